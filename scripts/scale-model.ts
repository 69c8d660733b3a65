// npm run scale: how far one installation goes. Grows an installation month by month, from a million keys to a thousand
// million in a million stores, and tells when it reaches which limit, in order. The sizes of rows and the speeds are those
// that were measured (docs/scale.md); what a month brings is a set of assumptions, each of which can be set:
//
//   MONTHS=60 KEYS=1000000000 STORES=1000000 EVENTS=3 ACTIVE=0.01 USED_HOURS=8 PEAK=4 npm run scale
//
// EVENTS: events for each key in its life. ACTIVE: the share of keys that are used on a day, each in USED_HOURS of its hours.
// PEAK: how much busier the busiest minute is than the average.

const number = (name: string, fallback: number) => Number(process.env[name] ?? fallback)
const MONTHS = number('MONTHS', 60)
const KEYS = number('KEYS', 1e9)
const STORES = number('STORES', 1e6)
const EVENTS = number('EVENTS', 3)
const ACTIVE = number('ACTIVE', 0.01)
const USED_HOURS = number('USED_HOURS', 8)
const PEAK = number('PEAK', 4)

/**
 * Bytes, with all indexes; those of usage and stores are calculated from the columns, the others measured by `npm run
 * bench:grow`.
 */
const BYTES = { key: 740, event: 870, seal: 970, usage: 200, store: 400, response: 870 }
const HOURS_KEPT_DAYS = 90
const DAYS_KEPT = 400
const RESPONSES_KEPT_DAYS = 1
const SECONDS_A_MONTH = 30.4 * 86_400
const START_KEYS = 1e6

type Month = {
  month: number
  keys: number
  events: number
  /** A second, in the busiest minute. */
  creates: number
  eventsWritten: number
  /** Rows that maintenance works off, a second on average. */
  choreRows: number
  /** Bytes. */
  usage: number
  disk: number
  indexes: number
  log: number
}

const months: Month[] = Array.from({ length: MONTHS + 1 }, (_, month) => {
  const keysAt = (m: number) => START_KEYS * (KEYS / START_KEYS) ** (m / MONTHS)
  const keys = keysAt(month)
  const created = keys - keysAt(month - 1)
  const events = keys * EVENTS
  const creates = (created / SECONDS_A_MONTH) * PEAK
  const active = keys * ACTIVE
  const usageRows = active * USED_HOURS * HOURS_KEPT_DAYS + active * (DAYS_KEPT - HOURS_KEPT_DAYS)
  const usage = usageRows * BYTES.usage
  const responses = (created / 30.4) * RESPONSES_KEPT_DAYS * BYTES.response
  const stores = Math.min(STORES, (keys / KEYS) * STORES) * BYTES.store
  return {
    month,
    keys,
    events,
    creates,
    eventsWritten: creates * EVENTS,
    // Each response is destroyed and deleted, each hour of use rolled up and each day deleted.
    choreRows: (2 * created) / SECONDS_A_MONTH + (active * (USED_HOURS + 1)) / 86_400,
    usage,
    disk: keys * BYTES.key + events * (BYTES.event + BYTES.seal) + usage + responses + stores,
    // Whose leaves new rows touch at random: by the hash of a key, and by the actor of an event.
    indexes: keys * 91 + events * 109,
    // A full page image for each of six random leaves, while the indexes do not fit between two checkpoints.
    log: creates * 36_000,
  }
})

type Limit = { what: string; max: number; value(month: Month): number; then: string }

/** Of one machine with 64 GB of memory; the speeds are those of two shared cores, and so on the careful side. */
const LIMITS: Limit[] = [
  {
    what: 'maintenance, rows/s',
    max: 5_000,
    value: ({ choreRows }) => choreRows,
    then: 'keep usage by the hour for fewer days',
  },
  {
    what: 'sealing, events/s at the peak',
    max: 5_000,
    value: ({ eventsWritten }) => eventsWritten,
    then: 'more cores for PostgreSQL, then sealing by shards of chains',
  },
  {
    what: 'log of PostgreSQL, MB/s at the peak',
    max: 50,
    value: ({ log }) => log / 1e6,
    then: 'wal_compression = lz4, max_wal_size = 64GB, checkpoint_timeout = 30min',
  },
  {
    what: 'indexes that random inserts touch, GB',
    max: 48,
    value: ({ indexes }) => indexes / 1e9,
    then: 'more memory, or cells',
  },
  { what: 'usage, GB', max: 500, value: ({ usage }) => usage / 1e9, then: 'keep hours for 30 days instead of 90' },
  {
    what: 'storekeeper backup, hours at 40 MB/s of rows',
    max: 8,
    value: ({ disk }) => disk / 2 / 40e6 / 3_600,
    then: 'physical backups',
  },
  {
    what: 'creates/s at the peak',
    max: 2_000,
    value: ({ creates }) => creates,
    then: 'WORKERS, then more nodes',
  },
  { what: 'disk, GB', max: 4_000, value: ({ disk }) => disk / 1e9, then: 'a larger disk, or cells' },
  {
    what: 'the start after a move to another server, minutes at 300,000 events/s',
    max: 60,
    value: ({ events }) => events / 300_000 / 60,
    then: 'cells',
  },
]

const short = (value: number) =>
  value >= 1e9
    ? `${(value / 1e9).toFixed(1)} G`
    : value >= 1e6
      ? `${(value / 1e6).toFixed(1)} M`
      : String(Math.round(value))

console.table(
  months
    .filter(({ month }) => month % Math.max(1, Math.round(MONTHS / 6)) === 0)
    .map(({ month, keys, events, creates, eventsWritten, choreRows, usage, disk, log }) => ({
      month,
      keys: short(keys),
      events: short(events),
      'creates/s': Math.round(creates),
      'events/s': Math.round(eventsWritten),
      'chore rows/s': Math.round(choreRows),
      'usage GB': Math.round(usage / 1e9),
      'disk GB': Math.round(disk / 1e9),
      'log MB/s': Math.round(log / 1e6),
    })),
)
const last = months.at(-1) as Month
const reached = LIMITS.map((limit) => ({ ...limit, share: limit.value(last) / limit.max })).toSorted(
  (a, b) => b.share - a.share,
)
console.table(
  reached.map(({ what, max, value, share, then }) => {
    const at = months.find((month) => value(month) > max)
    return { what, limit: max, 'passed at keys': at ? short(at.keys) : `${Math.round(100 * share)} % at the end`, then }
  }),
)
