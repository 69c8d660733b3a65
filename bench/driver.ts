// npm run bench:driver: what src/db/pool.ts does beside the driver's own ways, each with and without it, in turn:
// statements of one turn of the event loop in one write (corkTurn), and the reader of timestamptz.

import type { Writable } from 'node:stream'
import pg from 'pg'
import { newWorld } from './world.ts'

const ROUNDS = 12
const SLICE_MS = 1_500
const WORKERS = 12
const PAGE_ROWS = 100
const TIMESTAMPTZ = 1184

type Getter = (oid: number, format?: 'text' | 'binary') => (text: string) => unknown

const world = await newWorld()
await world.sql(`insert into stores (id, name, account_id, created_at, updated_at)
                 select 'store_' || n, 'Bench', 'nobody', now() + n * interval '1.234567 s', now() from generate_series(1, 1000) as n`)

const ownParser: Getter = (oid) =>
  oid === TIMESTAMPTZ
    ? (text) => new Date(`${text.slice(0, 10)}T${text.slice(11, -3)}Z`)
    : (pg.types.getTypeParser(oid, 'text') as (text: string) => unknown)
const driverParser: Getter = (oid) => pg.types.getTypeParser(oid, 'text') as (text: string) => unknown

async function clientsWith(getTypeParser: Getter): Promise<pg.Client[]> {
  const config = {
    connectionString: world.url,
    pipeline: true,
    options: '-c timezone=UTC -c datestyle=ISO',
    types: { getTypeParser: getTypeParser as typeof pg.types.getTypeParser },
  }
  const clients = Array.from({ length: WORKERS }, () => new pg.Client(config))
  await Promise.all(clients.map((client) => client.connect()))
  return clients
}

function cork(client: pg.Client): void {
  const { stream } = (client as unknown as { connection: { stream: Writable } }).connection
  stream.cork()
  process.nextTick(() => stream.uncork())
}

/** As most changes are made: begin with the first statement, commit with the last. */
async function change(client: pg.Client, n: number, corked: boolean): Promise<void> {
  const id = `store_${1 + (n % 1000)}`
  if (corked) cork(client)
  await Promise.all([
    client.query({ name: 'begin', text: 'begin' }),
    client.query({
      name: 'lock',
      text: 'select id, revision from stores where id = $1 for no key update',
      values: [id],
    }),
  ])
  if (corked) cork(client)
  await Promise.all([
    client.query({ name: 'set', text: 'update stores set revision = revision + 1 where id = $1', values: [id] }),
    client.query({ name: 'commit', text: 'commit' }),
  ])
}

async function readPage(client: pg.Client): Promise<void> {
  await client.query({
    name: 'page',
    text: `select id, name, revision, created_at, updated_at from stores order by id limit ${PAGE_ROWS}`,
  })
}

type Way = { name: string; work: (worker: number, n: number) => Promise<void> }
type Figure = { perSecond: number; clientUs: number; serverUs: number }

async function measure({ work }: Way): Promise<Figure> {
  const [cpu, server, start] = [process.cpuUsage(), world.cpuMs(), performance.now()]
  let done = 0
  await Promise.all(
    Array.from({ length: WORKERS }, async (_, worker) => {
      while (performance.now() - start < SLICE_MS) await work(worker, worker + WORKERS * done++)
    }),
  )
  const seconds = (performance.now() - start) / 1000
  const { user, system } = process.cpuUsage(cpu)
  return {
    perSecond: done / seconds,
    clientUs: (user + system) / done,
    serverUs: ((world.cpuMs() - server) * 1000) / done,
  }
}

const median = (numbers: number[]) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)] as number
const quartiles = (numbers: number[]) => {
  const sorted = [...numbers].sort((a, b) => a - b)
  return [0.25, 0.5, 0.75].map((share) => (sorted[Math.floor(sorted.length * share)] as number).toFixed(2)).join(' ')
}

/** Every round measures both, one after the other, and the one that comes first changes: the ratio is of neighbours. */
async function compare(what: string, without: Way, withIt: Way): Promise<void> {
  await measure(without)
  await measure(withIt)
  const rounds: [Figure, Figure][] = []
  for (let round = 0; round < ROUNDS; round++) {
    const first = await measure(round % 2 ? withIt : without)
    const second = await measure(round % 2 ? without : withIt)
    rounds.push(round % 2 ? [second, first] : [first, second])
  }
  const row = (way: Way, i: 0 | 1) => ({
    [what]: way.name,
    '/s': Math.round(median(rounds.map((round) => round[i].perSecond))),
    'client µs': Math.round(median(rounds.map((round) => round[i].clientUs))),
    'server µs': Math.round(median(rounds.map((round) => round[i].serverUs))),
  })
  console.table([row(without, 0), row(withIt, 1)])
  for (const figure of ['perSecond', 'clientUs', 'serverUs'] as const)
    console.log(`${figure}: with / without, quartiles ${quartiles(rounds.map(([a, b]) => b[figure] / a[figure]))}`)
}

const [own, driver] = [await clientsWith(ownParser), await clientsWith(driverParser)]
const at = (clients: pg.Client[], worker: number) => clients[worker] as pg.Client
await compare(
  'a transaction of two round trips',
  { name: 'each statement a write', work: (worker, n) => change(at(own, worker), n, false) },
  { name: 'corked for the turn', work: (worker, n) => change(at(own, worker), n, true) },
)
await compare(
  `a page of ${PAGE_ROWS} rows with two times each`,
  { name: "the driver's reader", work: (worker) => readPage(at(driver, worker)) },
  { name: 'our reader', work: (worker) => readPage(at(own, worker)) },
)
await Promise.all([...own, ...driver].map((client) => client.end()))
await world.close()
