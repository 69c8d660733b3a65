// The routes of the audit trail.

import type { Fault } from '../core/errors.ts'
import { PageQuery } from '../core/pagination.ts'
import { type Route, route } from '../core/route.ts'
import { DateTime } from '../schema/fields.ts'
import { Type } from '../schema/type.ts'
import { readHead } from './log.ts'
import { Event, EventHead, Events } from './schema.ts'
import { streamEvents } from './stream.ts'
import { type Filters, listEvents, parseTypes, positionOf, readEvent } from './trail.ts'

const filters = {
  type: Type.Optional(
    Type.String({
      maxLength: 1_000,
      description: 'Only these types: `key.created`, all of a kind as `key.*`, or several with commas between.',
    }),
  ),
  subject: Type.Optional(Type.String({ maxLength: 100, description: 'Only what happened to the thing with this id.' })),
}
const listFilters = {
  ...filters,
  actor: Type.Optional(
    Type.String({ maxLength: 100, description: 'Only what was done by the user, key or service with this id.' }),
  ),
  from: Type.Optional(DateTime({ description: 'Only what happened at this time or later.' })),
  to: Type.Optional(DateTime({ description: 'Only what happened before this time.' })),
}

const checkQuery = ({ type }: Filters, faults: Fault[]) => void parseTypes(type, faults)

const closed = { additionalProperties: false }

export const eventRoutes: Route[] = [
  route(
    {
      id: 'events.list',
      method: 'GET',
      path: '/v1/user/store/:storeId/events',
      needs: 'VIEW_EVENTS',
      summary: 'List events',
      description:
        'The audit trail of the store, newest first: every change, who made it, and what it changed. An event is here as soon as its change was answered, with `position: null` until it has its place in the chain, which takes at most 5 seconds. Turning the pages misses nothing and shows nothing twice, whatever happens meanwhile.',
      query: Type.Object({ ...listFilters, ...PageQuery }, closed),
      checkQuery,
      returns: [200, Events],
      example: { query: 'type=key.*,member.*' },
    },
    async ({ db, instance, params, query }) => ({ body: await listEvents(db, instance, params.storeId, query) }),
  ),
  route(
    {
      id: 'events.stream',
      method: 'GET',
      path: '/v1/user/store/:storeId/events/stream',
      needs: 'VIEW_EVENTS',
      summary: 'Follow events',
      description:
        'The same trail live, as server-sent events (`text/event-stream`), oldest first: `data` is the event, `id` its id. After a break send the last `id` you have as `Last-Event-ID`, as browsers do by themselves, and you get all that came since. Without it the stream begins now. While nothing happens a comment comes at least every 15 seconds. The stream ends when you may no longer see events, when you read too slowly, and when the node stops: come back with `Last-Event-ID`.',
      query: Type.Object(
        {
          ...filters,
          after: Type.Optional(
            Type.String({
              maxLength: 100,
              description: 'The id of the last event you have. The header `Last-Event-ID` comes before it.',
            }),
          ),
        },
        closed,
      ),
      checkQuery,
      returns: [200, null],
      errors: ['invalid_cursor'],
      answer: 'events',
    },
    async ({ db, params, query, request, stream }) => {
      const { storeId } = params
      const types = parseTypes(query.type)
      const last = request.header('last-event-id') || query.after
      const after = last ? await positionOf(db, storeId, last) : (await readHead(db, storeId)).seq
      const wants = (event: { type: string; subject: string }) =>
        (types === null || types.some((type) => type === event.type)) &&
        (query.subject === undefined || query.subject === event.subject)
      return {
        body: null,
        stream: (closing) =>
          streamEvents(stream.feed, { storeId, after, wants, stillAuthorized: stream.stillAuthorized, closing }),
      }
    },
  ),
  route(
    {
      id: 'events.read',
      method: 'GET',
      path: '/v1/user/store/:storeId/events/:eventId',
      needs: 'VIEW_EVENTS',
      summary: 'Read an event',
      description: 'One event of the trail. `position` is `null` until it has its place in the chain.',
      returns: [200, Event],
      errors: ['event_not_found'],
    },
    async ({ db, params }) => ({ body: await readEvent(db, params.storeId, params.eventId) }),
  ),
  route(
    {
      id: 'events.head',
      method: 'GET',
      path: '/v1/user/store/:storeId/events/head',
      needs: 'VIEW_EVENTS',
      summary: 'Read the seal of the trail',
      description:
        "How many events are sealed, and the hash that holds all of them. Keep it somewhere this service cannot reach: whoever has it can tell whether an export of the store's events was altered anywhere before it.",
      returns: [200, EventHead],
    },
    async ({ db, params }) => ({ body: await readHead(db, params.storeId) }),
  ),
]
