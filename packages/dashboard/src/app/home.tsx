// Where somebody lands who opens "/" or signs in: the store they opened last, the only one they have, or all of them.

import { Redirect } from 'wouter'
import { Loaded } from '../components/loaded.tsx'
import { Waiting } from '../components/waiting.tsx'
import { recentStores } from './last-store.ts'
import { type Membership, useMe } from './me.ts'
import { homeOf, paths } from './paths.ts'

function landing(stores: Membership[]): string {
  const [last] = recentStores()
  const isCustomer = stores.every(({ role }) => role === 'CUSTOMER')
  const home =
    stores.find(({ store }) => store.id === last) ?? (stores.length === 1 || isCustomer ? stores[0] : undefined)
  return home ? homeOf(home) : paths.stores
}

export function Home() {
  return (
    <Loaded query={useMe()} skeleton={<Waiting />}>
      {({ stores }) => <Redirect to={landing(stores)} replace />}
    </Loaded>
  )
}
