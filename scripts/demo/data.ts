// The demo store: who works there, its keys, and its customers in ten countries. All of it is invented; domains end in
// `.example`, which never resolves.

import type { NewAddress, NewKey } from '../../packages/client/src/index.ts'

export const STORES = ['Harbour & Pine', 'Night Market']

export const PEOPLE = [
  { name: 'Olive Hart', mailbox: 'olive', role: 'OWNER' },
  { name: 'Mateo Ruiz', mailbox: 'mateo', role: 'MANAGER' },
  { name: 'Aiko Tanaka', mailbox: 'aiko', role: 'STAFF' },
] as const

/** Invited, and not there yet. */
export const INVITED = ['ines', 'tom']

/**
 * `calls`: about how many verifications an hour at noon; `refused`: what share of them, and why. `idleDays`: for how many
 * days it has not been used.
 */
export type DemoKey = NewKey & {
  calls: number
  refused?: { outcome: string; share: number }
  needed: string[]
  idleDays?: number
  then?: 'rotate' | 'disable' | 'revoke'
}

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()

export const KEYS: DemoKey[] = [
  {
    name: 'Checkout',
    type: 'PROD',
    permissions: ['READ', 'WRITE', 'MANAGE_ORDERS'],
    metadata: { description: 'The checkout page of the shop' },
    calls: 420,
    refused: { outcome: 'RATE_LIMITED', share: 0.01 },
    rateLimit: { limit: 600, windowSeconds: 60 },
    needed: ['READ', 'WRITE', 'MANAGE_ORDERS'],
  },
  {
    name: 'Warehouse scanner',
    type: 'PROD',
    permissions: ['READ', 'WRITE', 'MANAGE_PRODUCTS', 'MANAGE_ORDERS'],
    metadata: { description: 'Hand scanners in Rotterdam' },
    calls: 160,
    refused: { outcome: 'FORBIDDEN_IP', share: 0.02 },
    ipAllowlist: ['203.0.113.0/24'],
    needed: ['READ', 'MANAGE_PRODUCTS'],
  },
  {
    name: 'Accounting export',
    type: 'PROD',
    permissions: ['READ'],
    calls: 12,
    expiresAt: inDays(9),
    needed: ['READ'],
  },
  {
    name: 'Mobile app',
    type: 'PROD',
    permissions: ['READ', 'WRITE'],
    calls: 260,
    refused: { outcome: 'INSUFFICIENT_PERMISSIONS', share: 0.03 },
    needed: ['READ', 'WRITE'],
    then: 'rotate',
  },
  {
    name: 'Partner: Nordlys',
    type: 'PROD',
    permissions: ['READ'],
    owner: 'partner-nordlys',
    credits: { remaining: 20_000, refill: { amount: 20_000, interval: 'MONTH', dayOfMonth: 1 } },
    calls: 40,
    needed: ['READ'],
  },
  {
    name: 'Partner: Nordlys, staging',
    type: 'TEST',
    permissions: ['READ'],
    owner: 'partner-nordlys',
    calls: 3,
    needed: ['READ'],
  },
  { name: 'Price feed', type: 'PROD', permissions: ['READ', 'MANAGE_PRODUCTS'], calls: 60, idleDays: 41, needed: [] },
  { name: 'Load test', type: 'DEV', permissions: ['READ', 'WRITE'], calls: 0, needed: [], then: 'disable' },
  { name: 'Laptop of Aiko', type: 'DEV', permissions: ['READ', 'WRITE'], calls: 1, needed: ['READ'] },
  { name: 'Returns desk', type: 'TEST', permissions: ['READ', 'MANAGE_ORDERS'], calls: 0, needed: [] },
  {
    name: 'Old checkout',
    type: 'PROD',
    permissions: ['READ', 'WRITE'],
    calls: 90,
    idleDays: 20,
    needed: [],
    then: 'revoke',
  },
]

/** By the keys under which the shop knows them. */
export const CUSTOMERS: { id: string; name: string; address: NewAddress }[] = [
  {
    id: 'C-1001',
    name: 'Grace Hopper',
    address: {
      firstName: 'Grace',
      lastName: 'Hopper',
      addressLine1: '1 Infinite Loop',
      city: 'Cupertino',
      state: 'California',
      postalCode: '95014',
      country: 'US',
    },
  },
  {
    id: 'C-1002',
    name: '山田 花子',
    address: {
      firstName: '花子',
      lastName: '山田',
      addressLine1: '丸の内1-9-1',
      city: '千代田区',
      state: '東京都',
      postalCode: '100-0005',
      country: 'JP',
    },
  },
  {
    id: 'C-1003',
    name: 'Ana Souza',
    address: {
      firstName: 'Ana',
      lastName: 'Souza',
      addressLine1: 'Avenida Paulista 1578',
      addressLine2: 'Bela Vista',
      city: 'São Paulo',
      state: 'SP',
      postalCode: '01310-200',
      country: 'BR',
    },
  },
  {
    id: 'C-1004',
    name: 'Rösterei Alt GmbH',
    address: {
      company: 'Rösterei Alt GmbH',
      addressLine1: 'Oranienstraße 12',
      city: 'Berlin',
      postalCode: '10999',
      country: 'DE',
    },
  },
  {
    id: 'C-1005',
    name: 'Ellen Price',
    address: {
      firstName: 'Ellen',
      lastName: 'Price',
      addressLine1: '221B Baker Street',
      city: 'London',
      postalCode: 'NW1 6XE',
      country: 'GB',
    },
  },
  {
    id: 'C-1006',
    name: 'Camille Roy',
    address: {
      firstName: 'Camille',
      lastName: 'Roy',
      addressLine1: '15 rue de Rivoli',
      city: 'Paris',
      postalCode: '75004',
      country: 'FR',
    },
  },
  {
    id: 'C-1007',
    name: 'Priya Nair',
    address: {
      firstName: 'Priya',
      lastName: 'Nair',
      addressLine1: '42 MG Road',
      city: 'Bengaluru',
      state: 'Karnataka',
      postalCode: '560001',
      country: 'IN',
    },
  },
  {
    id: 'C-1008',
    name: 'Jack Wilson',
    address: {
      firstName: 'Jack',
      lastName: 'Wilson',
      addressLine1: '5 Martin Place',
      city: 'Sydney',
      state: 'NSW',
      postalCode: '2000',
      country: 'AU',
    },
  },
  {
    id: 'C-1009',
    name: 'Léa Tremblay',
    address: {
      firstName: 'Léa',
      lastName: 'Tremblay',
      addressLine1: '1000 rue Sherbrooke Ouest',
      city: 'Montréal',
      state: 'QC',
      postalCode: 'H3A 3G4',
      country: 'CA',
    },
  },
  {
    id: 'C-1010',
    name: 'Ingrid Dahl',
    address: {
      firstName: 'Ingrid',
      lastName: 'Dahl',
      addressLine1: 'Karl Johans gate 22',
      city: 'Oslo',
      postalCode: '0026',
      country: 'NO',
    },
  },
]
