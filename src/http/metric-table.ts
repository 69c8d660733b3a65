// Every metric of the service but those of the process: its name, what it means, and how the values of several workers
// become one (cluster/metrics.ts). docs/operations.md lists them all, deploy/ has alarms and a dashboard made of them.

import type { MetricConfiguration } from 'prom-client'
import { DATABASE_ROLES } from '../db/state.ts'

/** Values that are read when the metrics are scraped. */
export type Readings = {
  inFlight(): number
  waiting(): number
  connectionsOpen(): number
  connectionsIdle(): number
  connectionsMax(): number
  databaseBytes(): Promise<number>
  heartbeatLag(): number
  cachedKeys(): number
  streams(): number
  changeStreams(): number
  sealingFailed(): number
  sealingLag(): Promise<number>
  outboxDepth(): Promise<number>
  outboxAge(): Promise<number>
}
/** Counts that their parts keep themselves. */
export type Totals = {
  /** Events this node has sealed. */
  sealed(): number
  changeResets(): number
  reportedUses(): number
  connectionsRefused(): number
  keyCacheHits(): number
  keyCacheMisses(): number
}

type Named = Pick<MetricConfiguration<string>, 'name' | 'help'>

/** Counters and histograms, written to as things happen. */
export const RECORDED = {
  requests: {
    name: 'storekeeper_http_requests_total',
    help: 'Requests answered, by route and status.',
    labelNames: ['method', 'route', 'status'],
  },
  durations: {
    name: 'storekeeper_http_request_duration_seconds',
    help: 'How long an answer took, by route.',
    labelNames: ['route'],
    buckets: [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10],
  },
  verifications: {
    name: 'storekeeper_verifications_total',
    help: 'Keys verified, by outcome.',
    labelNames: ['code'],
  },
  webhookAttempts: {
    name: 'storekeeper_webhook_attempts_total',
    help: 'Tries to deliver to a webhook, by outcome: delivered, failed, given_up.',
    labelNames: ['outcome'],
  },
  idempotentRequests: {
    name: 'storekeeper_idempotent_requests_total',
    help: 'Requests with an Idempotency-Key, by outcome: executed, replayed, in_progress, mismatch, gone, failed.',
    labelNames: ['outcome'],
  },
  failures: {
    name: 'storekeeper_background_failures_total',
    help: 'Work in the background that failed and will be tried again: sealing, webhooks, and the chores of each minute.',
    labelNames: ['work'],
  },
  choreDurations: {
    name: 'storekeeper_chore_duration_seconds',
    help: 'How long a run of a chore took, by chore.',
    labelNames: ['chore'],
    buckets: [0.1, 1, 10, 60],
  },
  choreRows: {
    name: 'storekeeper_chore_rows_total',
    help: 'Rows that chores have written or deleted, by chore.',
    labelNames: ['chore'],
  },
  unavailable: {
    name: 'storekeeper_database_unavailable_total',
    help: 'Statements that the database could not carry out, by SQLSTATE: 53100 is a full disk, 25006 a server that takes no writes; none where it did not answer.',
    labelNames: ['code'],
  },
}

/** Labels that are there before anything is counted. */
export const WEBHOOK_OUTCOMES = ['delivered', 'failed', 'given_up'] as const
export const IDEMPOTENT_OUTCOMES = ['executed', 'replayed', 'in_progress', 'mismatch', 'gone', 'failed'] as const
export type IdempotentOutcome = (typeof IDEMPOTENT_OUTCOMES)[number]
export const UNAVAILABLE_CODES = ['53100', '25006', 'none']

export const TOTALS: Record<keyof Totals, Named> = {
  sealed: {
    name: 'storekeeper_events_sealed_total',
    help: 'Events this node has sealed since it started. One node at a time does it for all.',
  },
  changeResets: {
    name: 'storekeeper_key_change_resets_total',
    help: 'Streams of key changes that had to begin anew, because this node lost its connection for notifications.',
  },
  reportedUses: {
    name: 'storekeeper_reported_uses_total',
    help: 'Uses of keys that back ends verified in their own process and reported to this node.',
  },
  connectionsRefused: {
    name: 'storekeeper_database_connections_refused_total',
    help: 'How often no connection to the database was to be had: it refused, or all were busy for 2 seconds.',
  },
  keyCacheHits: {
    name: 'storekeeper_key_cache_hits_total',
    help: 'Keys that were found in memory.',
  },
  keyCacheMisses: {
    name: 'storekeeper_key_cache_misses_total',
    help: 'Keys that were looked up in the database, those that do not exist among them.',
  },
}

/** `aggregator`: how the values of several workers become one; else they are added up. */
export const GAUGES: Record<keyof Readings, Named & { aggregator?: 'max' }> = {
  inFlight: { name: 'storekeeper_http_requests_under_way', help: 'Requests that are being answered now.' },
  waiting: { name: 'storekeeper_database_waiting', help: 'Requests that wait for a connection to the database.' },
  connectionsOpen: { name: 'storekeeper_database_connections_open', help: 'Connections to the database.' },
  connectionsIdle: { name: 'storekeeper_database_connections_idle', help: 'Of these, the ones that nobody uses now.' },
  connectionsMax: { name: 'storekeeper_database_connections_max', help: 'How many there may be.' },
  databaseBytes: {
    name: 'storekeeper_database_size_bytes',
    help: 'The size of the database on its disk, without its log; read every five minutes.',
    aggregator: 'max',
  },
  heartbeatLag: {
    name: 'storekeeper_heartbeat_lag_seconds',
    help: 'For how long a heartbeat of the database has been waited for: 0 while each comes back.',
    aggregator: 'max',
  },
  cachedKeys: { name: 'storekeeper_key_cache_keys', help: 'Keys that are kept in memory.' },
  streams: { name: 'storekeeper_event_streams', help: 'Streams of events that are open now.' },
  changeStreams: {
    name: 'storekeeper_key_change_streams',
    help: 'Streams of key changes that are open now, one for each process that verifies in its own memory.',
  },
  sealingFailed: { name: 'storekeeper_sealing_failed', help: '1 while the last pass of sealing on this node failed.' },
  sealingLag: {
    name: 'storekeeper_sealing_lag_seconds',
    help: 'Age of the oldest event that has no seal yet.',
    aggregator: 'max',
  },
  outboxDepth: {
    name: 'storekeeper_webhook_outbox_rows',
    help: 'Rows of the outbox, up to a hundred events each, that have not become deliveries yet; 10,000 means that many or more.',
    aggregator: 'max',
  },
  outboxAge: {
    name: 'storekeeper_webhook_outbox_age_seconds',
    help: 'Age of the oldest row of the outbox.',
    aggregator: 'max',
  },
}

export const WORKERS = { name: 'storekeeper_workers', help: 'Processes that serve requests.' }

export const BUILD = {
  name: 'storekeeper_build_info',
  help: 'Always 1: the version of the service, and of Node.js, are its labels.',
  labelNames: ['version', 'node'],
  aggregator: 'max' as const,
}

export const ROLE = {
  name: 'storekeeper_database_role',
  help: `1 for what the database is now: ${DATABASE_ROLES.join(', ')}.`,
  labelNames: ['role'],
  aggregator: 'max' as const,
}
