// Events by their type: `if (event.type === 'key.revoked')` tells what `data` has.

import type { Event, EventData, WebhookMessage } from './api.gen.ts'

/** Newer services may send types that are not among these: end a `switch` with a `default`. */
type Typed<Shape> = {
  [Type in keyof EventData]: Omit<Shape, 'type' | 'data'> & { type: Type; data: EventData[Type] }
}[keyof EventData]

/** Something that happened in a store, as `events.follow` tells it. */
export type StoreEvent = Typed<Event>
/** Something that happened in a store, as a webhook tells it. */
export type WebhookEvent = Typed<WebhookMessage>
