// Where somebody lands who opens "/" or signs in: the store they opened last, the only one they have, or all of them.

import { Redirect } from 'wouter'
import { Loaded } from '../components/loaded.tsx'
import { recentStores } from './last-store.ts'
import { type Membership, useMe } from './me.ts'
import { paths } from './paths.ts'

/** What somebody opens a store for depends on what they may do there. */
export function homeOf({ store, role, permissions }: Membership): string {
  if (role === 'CUSTOMER') return paths.addresses(store.id)
  return permissions.includes('MANAGE_KEYS') ? paths.overview(store.id) : paths.customers(store.id)
}

function landing(stores: Membership[]): string {
  const [last] = recentStores()
  const isCustomer = stores.every(({ role }) => role === 'CUSTOMER')
  const home =
    stores.find(({ store }) => store.id === last) ?? (stores.length === 1 || isCustomer ? stores[0] : undefined)
  return home ? homeOf(home) : paths.stores
}

export default function Home() {
  return <Loaded query={useMe()}>{({ stores }) => <Redirect to={landing(stores)} replace />}</Loaded>
}
