// The client of Storekeeper.

import { etagOf, type StoreClient, type Storekeeper, storekeeper } from './client.ts'
import { isStorekeeperError, StorekeeperError } from './error.ts'

export type * from './api.gen.ts'
export type { ClientErrorCode, ErrorCode, KnownErrorCode } from './error.ts'
export type { StoreEvent, WebhookEvent } from './event-types.ts'
export type { List, PageOf } from './list.ts'
export type {
  CallOptions,
  ClientOptions,
  GuardedOptions,
  KeyedOptions,
  ReadOptions,
  RequestOptions,
} from './options.ts'
export type { Question, Transport, Verifier } from './transport.ts'
export { etagOf, isStorekeeperError, type StoreClient, type Storekeeper, StorekeeperError, storekeeper }
