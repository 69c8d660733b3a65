// What the metrics read from the parts of the service: see http/metric-table.ts for what each of them means.

import type { KeyCache } from './auth/key-cache.ts'
import type { Database } from './db/db.ts'
import type { Listener } from './db/listen.ts'
import { newSizeReading, readRole } from './db/state.ts'
import { readSealingLag } from './events/log.ts'
import type { Sealer } from './events/seal.ts'
import type { EventStreams } from './http/event-stream.ts'
import type { Measurable } from './http/metrics.ts'
import type { LoadShedder } from './limits/load-shedding.ts'
import { MAINTENANCE_TASKS } from './maintenance.ts'
import { readOutboxAge, readOutboxDepth } from './webhooks/outbox.ts'

type Parts = {
  db: Database
  load: LoadShedder
  streams: EventStreams
  changeStreams: EventStreams
  keys: KeyCache
  notifications: Listener
  changes: { resets(): number }
  reports: { uses(): number }
  /** Null while another worker seals. */
  sealer(): Sealer | null
}

export function measurable({ db, load, streams, changeStreams, keys, sealer, ...parts }: Parts): Measurable {
  return {
    readings: {
      inFlight: load.inFlight,
      waiting: db.waiting,
      connectionsOpen: () => db.connections().open,
      connectionsIdle: () => db.connections().idle,
      connectionsMax: () => db.connections().max,
      databaseBytes: newSizeReading(db),
      heartbeatLag: parts.notifications.lag,
      cachedKeys: keys.size,
      streams: streams.open,
      changeStreams: changeStreams.open,
      sealingFailed: () => Number(sealer()?.failed() ?? false),
      sealingLag: () => readSealingLag(db),
      outboxDepth: () => readOutboxDepth(db),
      outboxAge: () => readOutboxAge(db),
    },
    totals: {
      sealed: () => sealer()?.sealed() ?? 0,
      changeResets: parts.changes.resets,
      reportedUses: parts.reports.uses,
      connectionsRefused: () => db.connections().refused,
      keyCacheHits: keys.hits,
      keyCacheMisses: keys.misses,
    },
    databaseRole: () => readRole(db),
    works: ['sealing', 'webhooks', 'mail', ...MAINTENANCE_TASKS],
    chores: MAINTENANCE_TASKS,
  }
}
