// Fills a running service with a store to look at: members, keys with weeks of use, customers in ten countries, webhooks and
// events. Everything goes through the API, except the use of the past weeks (demo/past-use.ts). Run again, it makes another.

import { randomBytes } from 'node:crypto'
import { type Storekeeper, storekeeper } from '../packages/client/src/index.ts'
import { CUSTOMERS, type DemoKey, INVITED, KEYS, PEOPLE, STORES } from './demo/data.ts'
import { writePastUse } from './demo/past-use.ts'

const url = (process.argv[2] ?? process.env.STOREKEEPER_URL ?? 'http://127.0.0.1:3000').replace(/\/$/, '')
const run = randomBytes(3).toString('hex')
const password = `demo ${randomBytes(12).toString('base64url')}`
const mailOf = (mailbox: string) => `${mailbox}-${run}@harbour.example`

const people = await signUpAll()
const [owner] = people as [Person, ...Person[]]
const storeIds = []
for (const name of STORES) storeIds.push((await owner.sk.stores.create({ name })).id)
const [storeId = ''] = storeIds
const store = owner.sk.store(storeId)

await invite()
const keys = await createKeys()
await createCustomers()
await createWebhooks()
await verifySome()
await endKeys()
const hasPast = await writePastUse(keys, storeIds)
tell()

type Person = { email: string; sk: Storekeeper }

async function signUpAll(): Promise<Person[]> {
  const anybody = storekeeper({ url })
  const signed: Person[] = []
  for (const { name, mailbox } of PEOPLE) {
    const email = mailOf(mailbox)
    const { token } = await anybody.auth.signUp({ email, password, name }).catch((error) => {
      throw new Error(`Nobody could sign up at ${url}: ${error.message} Is the service running there?`)
    })
    signed.push({ email, sk: storekeeper({ url, token }) })
  }
  return signed
}

async function invite(): Promise<void> {
  for (const [n, { role }] of PEOPLE.entries()) {
    const person = people[n] as Person
    if (person === owner) continue
    const { token } = await store.invitations.create({ email: person.email, role })
    await person.sk.invitations.accept({ token })
  }
  for (const mailbox of INVITED) await store.invitations.create({ email: mailOf(mailbox), role: 'STAFF' })
}

type MadeKey = DemoKey & { id: string; secret: string }

async function createKeys(): Promise<MadeKey[]> {
  const made: MadeKey[] = []
  for (const key of KEYS) {
    const { calls: _, refused: __, needed: ___, idleDays: ____, then: _____, ...input } = key
    const { id, key: secret } = await store.keys.create(input)
    made.push({ ...key, id, secret })
  }
  await store.keys.import({
    keys: ['Till 1', 'Till 2'].map((name, n) => ({
      name,
      value: `harbour_live_${randomBytes(9).toString('hex')}${n}`,
      type: 'PROD',
      permissions: ['READ'],
    })),
  })
  return made
}

async function createCustomers(): Promise<void> {
  for (const { id, name, address } of CUSTOMERS) {
    await store.customers.put(id, { name, email: `${id.toLowerCase()}@customers.example` })
    await store.customers.addresses.create(id, { ...address, isDefault: true })
  }
  const [mine] = CUSTOMERS as [(typeof CUSTOMERS)[number]]
  const { id } = await store.addresses.create({ ...mine.address, firstName: 'Olive', lastName: 'Hart' })
  await store.addresses.update(id, { addressLine1: '2 Infinite Loop' })
}

/** Their hosts never resolve, so that nothing leaves the machine: these webhooks fail, and the pages show how that looks. */
async function createWebhooks(): Promise<void> {
  await store.webhooks.create({
    url: 'https://hooks.harbour.example/storekeeper',
    types: ['*'],
    description: 'Slack relay',
  })
  const crm = await store.webhooks.create({
    url: 'https://crm.harbour.example/events',
    types: ['customer.*', 'address.*'],
    description: 'CRM',
  })
  await store.webhooks.update(crm.id, { enabled: false })
}

/** Real verifications, now. */
async function verifySome(): Promise<void> {
  const { token } = await store.serviceTokens.create({ name: 'API gateway' })
  const gateway = storekeeper({ url, token, storeId })
  for (const { secret, needed, calls, idleDays = 0 } of keys)
    for (let n = 0; n < (idleDays > 0 ? 0 : Math.min(5, calls)); n++)
      await gateway.keys.verify({ key: secret, ip: `203.0.113.${10 + n}`, permissions: needed })
  await gateway.close()
}

async function endKeys(): Promise<void> {
  for (const { id, then } of keys) {
    if (then === 'rotate') await store.keys.rotate(id, { gracePeriodSeconds: 86_400 })
    if (then === 'disable') await store.keys.update(id, { enabled: false })
    if (then === 'revoke') await store.keys.revoke(id, { reason: 'The new checkout is live' })
  }
  const [, colleague] = people as [Person, Person]
  const checkout = keys[0] as MadeKey
  await colleague.sk.store(storeId).keys.update(checkout.id, { permissions: ['READ', 'WRITE', 'MANAGE_ORDERS'] })
}

function tell(): void {
  console.log(`The store “${STORES[0]}” is ready.

  Open      ${url}/
  E-mail    ${owner.email}
  Password  ${password}

Its members have the same password: ${people
    .slice(1)
    .map(({ email }) => email)
    .join(', ')}`)
  if (!hasPast)
    console.log(`
The use of the past weeks is missing: it is written into the database, and the settings of this command lead to another one
than that of the service. Run it with the DATABASE_URL and SERVER_SECRET, or the DATA_DIR, of the service.`)
}
