// Everything that can be done to addresses, by many at once, while somebody looks on: at every committed moment whoever
// has addresses has exactly one default. The test of the suite and the long one (`npm run stress:defaults`) are the same.

import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { EXAMPLE_ADDRESS } from '../src/billing/schema.ts'
import { newRandom, type Random } from './random.ts'

export type Storm = {
  requests: number
  /** SEED=… chooses the same acts again; how they meet is up to the machine. */
  seed?: number | undefined
  /** How many are under way at any time. */
  atOnce: number
  /** The nodes, in turn. */
  urls: string[]
  databaseUrl: string
  billing: string
  tokens: string[]
}

export type Weather = {
  seed: number
  /** How often each answer came: `POST 201`, `PATCH 200`, `DELETE 404` … */
  answers: Record<string, number>
  snapshots: number
  /** What must not be: each entry is a fault of ours. */
  wrong: string[]
}

/** Addresses of one user, far below the service's limit. */
const MAX_KEPT = 30

/** Between two looks, so that looking on is not most of what happens. */
const PAUSE_MS = 5

const CITIES = ['Cupertino', 'Palo Alto', 'Menlo Park', 'Mountain View']

type User = { token: string; kept: string[]; deleted: Set<string> }

export async function storm(storm: Storm): Promise<Weather> {
  const { requests, atOnce, urls, databaseUrl, billing, tokens } = storm
  const random = newRandom(storm.seed)
  const users = tokens.map((token): User => ({ token, kept: [], deleted: new Set() }))
  const weather: Weather = { seed: random.seed, answers: {}, snapshots: 0, wrong: [] }
  const shown = new Map<string, string>()
  const watcher = await watch(databaseUrl, weather)
  let sent = 0

  const act = async () => {
    while (sent < requests) {
      const n = sent++
      const user = random.pick(users)
      const { method, id, body } = nextAct(user, random)
      const response = await fetch(`${urls[n % urls.length]}${billing}${id ? `/${id}` : ''}`, {
        method,
        headers: { authorization: `Bearer ${user.token}`, ...(body ? { 'content-type': 'application/json' } : {}) },
        ...(body ? { body: JSON.stringify(body) } : {}),
      })
      const text = await response.text()
      const said = `${method} ${response.status}`
      weather.answers[said] = (weather.answers[said] ?? 0) + 1
      const told = judge(
        { method, user, id, body, status: response.status, text, etag: response.headers.get('etag') },
        shown,
      )
      if (told) weather.wrong.push(`${said}: ${told} ${text.slice(0, 300)}`)
    }
  }
  try {
    await Promise.all(Array.from({ length: atOnce }, act))
  } finally {
    await watcher.stop()
  }
  return weather
}

type Act = { method: 'POST' | 'PATCH' | 'DELETE'; id?: string | undefined; body?: Record<string, unknown> | undefined }

function nextAct(user: User, { pick, next }: Random): Act {
  const id = user.kept.length > 0 ? pick(user.kept) : undefined
  const dice = next()
  if (!id || (dice < 0.35 && user.kept.length < MAX_KEPT)) {
    const isDefault = pick([true, false, undefined])
    return {
      method: 'POST',
      body: { ...EXAMPLE_ADDRESS, city: pick(CITIES), ...(isDefault === undefined ? {} : { isDefault }) },
    }
  }
  if (dice > 0.75) {
    user.kept.splice(user.kept.indexOf(id), 1)
    user.deleted.add(id)
    return { method: 'DELETE', id }
  }
  const change = pick([{ isDefault: true }, { isDefault: false }, { city: pick(CITIES) }, {}])
  return { method: 'PATCH', id, body: next() < 0.2 ? { ...change, city: pick(CITIES) } : change }
}

type Answered = Act & { user: User; status: number; text: string; etag: string | null }

/** What is wrong with an answer, if anything. */
function judge({ method, user, id, body, status, text, etag }: Answered, shown: Map<string, string>): string | null {
  if (status === 404 && id && user.deleted.has(id)) return null
  if (method === 'DELETE') return status === 204 ? null : 'not deleted'
  if (status !== (method === 'POST' ? 201 : 200)) return 'refused'
  const address = JSON.parse(text)
  if (method === 'POST') user.kept.push(address.id)
  if (body?.isDefault === true && !address.isDefault) return 'asked to be the default, and is not'
  // An ETag stands for one state of an address: whoever is shown it twice is shown the same.
  const before = shown.get(`${address.id} ${etag}`) ?? text
  shown.set(`${address.id} ${etag}`, before)
  return before === text ? null : `was ${before} under the same ETag, and is`
}

/** Looks again and again at one snapshot of everything. */
async function watch(connectionString: string, weather: Weather): Promise<{ stop(): Promise<void> }> {
  const eye = new pg.Client({ connectionString })
  await eye.connect()
  let watching = true
  const look = async () => {
    await eye.query('begin isolation level repeatable read, read only')
    const { rows } = await eye.query(
      `select user_id, count(*)::int as addresses, count(*) filter (where is_default)::int as defaults
         from addresses
        group by user_id`,
    )
    await eye.query('commit')
    if (rows.length > 0) weather.snapshots += 1
    for (const row of rows) if (row.defaults !== 1) weather.wrong.push(`snapshot: ${JSON.stringify(row)}`)
  }
  const looking = (async () => {
    while (watching) {
      await look()
      await sleep(PAUSE_MS)
    }
  })()
  return {
    stop: async () => {
      watching = false
      await looking
      await look()
      weather.wrong.push(...(await gaps(eye)))
      await eye.end()
    },
  }
}

/** Every version that ever was is there, and each follows the one before. */
async function gaps(eye: pg.Client): Promise<string[]> {
  const { rows } = await eye.query(
    `select address_id, count(*)::int as versions, max(version) as last
       from address_contents
      group by address_id
     having count(*) <> max(version) or min(version) <> 1`,
  )
  const { rows: broken } = await eye.query(
    `select address_id, version
       from (select address_id, version, until, lead(at) over (partition by address_id order by version) as next
               from address_contents) content
      where next is not null
        and until <> next`,
  )
  return [...rows, ...broken].map((row) => `versions: ${JSON.stringify(row)}`)
}
