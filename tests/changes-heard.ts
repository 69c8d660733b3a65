// What the database tells the nodes, heard on a connection of its own: how long the database takes to tell it, on a
// busy machine, is not a node's doing.

import pg from 'pg'
import { onTestFinished } from 'vitest'

type Heard = {
  /** To be called before a change. */
  forget(): void
  /** For how many milliseconds every node could have known of a change that was answered then. 0: not heard yet. */
  knownFor(answered: number): number
}

export async function hearChanges(databaseUrl: string): Promise<Heard> {
  const client = new pg.Client({ connectionString: databaseUrl })
  client.on('error', () => {})
  await client.connect()
  onTestFinished(() => client.end())
  let at: number | null = null
  client.on('notification', () => {
    at ??= performance.now()
  })
  await client.query('listen storekeeper_changes')
  return {
    forget: () => {
      at = null
    },
    knownFor: (answered) => (at === null ? 0 : performance.now() - Math.max(at, answered)),
  }
}
