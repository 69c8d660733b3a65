// What the primary process and its workers tell each other.

import type { Connection } from '../db/db.ts'
import type { Measured } from '../http/metrics.ts'

export type ToWorker =
  /** The first message, at once or when the spare is needed: open the service. */
  | { kind: 'start'; connection: Connection }
  /** Do what runs without a request, for the whole machine. */
  | { kind: 'lead' }
  /** For the lead: there may be something to send. */
  | { kind: 'wake' }
  | { kind: 'measure'; request: number }
  /** The metrics of the machine, as asked for. */
  | { kind: 'metrics'; request: number; text: string }
  /** `isReplaced`: another worker has taken its place, and the machine goes on serving. */
  | { kind: 'stop'; isReplaced: boolean }

export type ToPrimary =
  /** The worker listens: messages before this one would be lost. */
  | { kind: 'listening' }
  | { kind: 'ready'; url: string }
  | { kind: 'failed'; message: string }
  | { kind: 'wake' }
  /** By a signal, which a whole group of processes may have got. */
  | { kind: 'told to stop' }
  /** It has failed, and ends once it has answered what it has begun. */
  | { kind: 'ending' }
  /** Without a request it is the last word of a worker that ends. */
  | { kind: 'measured'; request: number | null; metrics: Measured }
  | { kind: 'metrics'; request: number }
