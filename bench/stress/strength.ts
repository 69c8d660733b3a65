// How often and how long the suite does what `npm run stress` does more of: the tests are the same.

type Strength = {
  /** SIGKILLs of the service under load. */
  kills: number
  /** What of PostgreSQL is killed under load, one after the other. */
  databaseKills: ('server' | 'backend')[]
  /** SIGKILLs of workers, and SIGHUPs, under load. */
  workerKills: number
  replacements: number
  /** SIGTERMs of the service under load, in turn to clients that connect for each request and that keep their connection. */
  sigterms: number
  /** Creates, changes and deletes of addresses by many at once. */
  addressRequests: number
  /** How long keys are held against their model. */
  modelMs: number
  /** Rounds of forty requests at once that take locks of several kinds. */
  deadlockRounds: number
  /** Rounds of each client that creates, uses, rotates and revokes keys at two nodes. */
  keyDeadlockRounds: number
  /** Rounds of bulk changes beside rotations and verifications, and random bulk changes against changes of one key. */
  bulkRounds: number
  bulkChanges: number
  /** Rounds of imports of the same values at two nodes. */
  importRounds: number
}

const SUITE: Strength = {
  kills: 1,
  databaseKills: ['server', 'backend'],
  workerKills: 1,
  replacements: 1,
  sigterms: 2,
  addressRequests: 500,
  modelMs: 3_000,
  deadlockRounds: 10,
  keyDeadlockRounds: 8,
  bulkRounds: 1,
  bulkChanges: 8,
  importRounds: 1,
}

const STRESS: Strength = {
  kills: 5,
  databaseKills: ['server', 'backend', 'server'],
  workerKills: 20,
  replacements: 20,
  sigterms: 10,
  addressRequests: 1_500,
  modelMs: 60_000,
  deadlockRounds: 500,
  keyDeadlockRounds: 250,
  bulkRounds: 50,
  bulkChanges: 300,
  importRounds: 50,
}

export const STRENGTH = process.env.STRESS === 'on' ? STRESS : SUITE
