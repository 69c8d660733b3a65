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
      description:
        'Only these types: an exact type such as `key.created`, a prefix such as `key.*`, or several, separated by commas.',
    }),
  ),
  subject: Type.Optional(Type.String({ maxLength: 100, description: 'Only events about the resource with this id.' })),
}
const listFilters = {
  ...filters,
  actor: Type.Optional(
    Type.String({ maxLength: 100, description: 'Only what the user, key or service token with this id did.' }),
  ),
  from: Type.Optional(DateTime({ description: 'Only events at this time or later.' })),
  to: Type.Optional(DateTime({ description: 'Only events before this time.' })),
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
        'The audit trail of the store, newest first: every change, who made it, and what it changed. An event is listed as soon as the request that caused it is answered, with `position: null` until it is sealed, which takes at most 5 seconds. Paging misses nothing and repeats nothing, whatever happens in the meantime.',
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
        'The same trail live, as server-sent events (`text/event-stream`), oldest first: `data` is the event and `id` its id. To resume, send the last `id` you received as `Last-Event-ID`, as browsers do automatically, and you get everything since. Without it, the stream starts now. When nothing happens, a comment is sent at least every 15 seconds. The stream ends when you lose access to events, when you read too slowly, and when the node stops: reconnect with `Last-Event-ID`.',
      query: Type.Object(
        {
          ...filters,
          after: Type.Optional(
            Type.String({
              maxLength: 100,
              description: 'The id of the last event you received. The header `Last-Event-ID` takes precedence.',
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
      const { feed, stillAuthorized } = stream
      const subscription = { storeId, after, resumes: Boolean(last), wants, stillAuthorized }
      return { body: null, stream: (closing) => streamEvents(feed, { ...subscription, closing }) }
    },
  ),
  route(
    {
      id: 'events.read',
      method: 'GET',
      path: '/v1/user/store/:storeId/events/:eventId',
      needs: 'VIEW_EVENTS',
      summary: 'Read an event',
      description: 'One event of the audit trail. `position` is `null` until it is sealed.',
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
      summary: 'Read the head of the trail',
      description:
        "The number of sealed events, and a hash over all of them. Keep a copy where this service cannot change it: with it, anyone can tell whether an export of the store's events was altered.",
      returns: [200, EventHead],
    },
    async ({ db, params }) => ({ body: await readHead(db, params.storeId) }),
  ),
]
