// The list of events and what comes live. Events that come while somebody reads wait until they are asked for.

import type { Event } from '@storekeeper/client'
import { useCallback, useEffect, useReducer, useState } from 'react'
import { sk, withSession } from '../../app/client.ts'
import { nextFound } from '../../app/found-page.ts'
import { followTogether } from './shared-stream.ts'

const PAGE = 50
/** Who was away longer than this many events begins with a fresh list. */
const MAX_MISSED = 500

export type Filters = { type?: string; subject?: string; actor?: string; from?: string; to?: string }

type Trail = {
  /** Newest first. */
  shown: Event[]
  /** Newer than those shown, newest first. */
  waiting: Event[]
  /** Leads to older ones; null at the end, undefined while the first are being read. */
  cursor: string | null | undefined
  error: unknown
}

type Action =
  | { is: 'begun' }
  | { is: 'read'; events: Event[]; cursor: string | null }
  | { is: 'older'; events: Event[]; cursor: string | null }
  | { is: 'came'; events: Event[] }
  | { is: 'show' }
  | { is: 'failed'; error: unknown }

const EMPTY: Trail = { shown: [], waiting: [], cursor: undefined, error: null }

function reduce(trail: Trail, action: Action): Trail {
  switch (action.is) {
    case 'begun':
      return EMPTY
    case 'read':
      return { shown: action.events, waiting: [], cursor: action.cursor, error: null }
    case 'older':
      return { ...trail, shown: trail.shown.concat(action.events), cursor: action.cursor }
    case 'came':
      return addNew(trail, action.events)
    case 'show':
      return { ...trail, shown: [...trail.waiting, ...trail.shown], waiting: [] }
    case 'failed':
      return { ...trail, error: action.error }
  }
}

/** One that is known already takes the place of itself: it has its position now. */
function addNew(trail: Trail, came: Event[]): Trail {
  const byId = new Map(came.map((event) => [event.id, event]))
  const renew = (events: Event[]) => events.map((event) => byId.get(event.id) ?? event)
  const known = new Set([...trail.shown, ...trail.waiting].map(({ id }) => id))
  const fresh = came.filter(({ id }) => !known.has(id))
  return { ...trail, shown: renew(trail.shown), waiting: [...fresh, ...renew(trail.waiting)] }
}

/** Whether an event that came live belongs to the list that somebody looks at. */
function matches({ type, subject, actor, from, to }: Filters, event: Event): boolean {
  const isOfType = (wanted: string) =>
    wanted.endsWith('.*') ? event.type.startsWith(wanted.slice(0, -1)) : event.type === wanted
  return (
    (!type || type.split(',').some(isOfType)) &&
    (!subject || event.subject === subject) &&
    (!actor || event.actor.id === actor) &&
    (!from || event.at >= from) &&
    (!to || event.at < to)
  )
}

export function useTrail(storeId: string, userId: string, filters: Filters) {
  const [trail, dispatch] = useReducer(reduce, EMPTY)
  const [attempt, setAttempt] = useState(0)
  const text = JSON.stringify(filters)
  useEffect(() => {
    dispatch({ is: 'begun' })
    return follow(storeId, userId, JSON.parse(text) as Filters, dispatch)
  }, [storeId, userId, text, attempt])

  const { cursor } = trail
  const readOlder = useCallback(async () => {
    if (!cursor) return
    const list = sk.store(storeId).events.list({ ...(JSON.parse(text) as Filters), limit: PAGE })
    try {
      const { data, nextCursor } = await withSession(() => nextFound(list, cursor))
      dispatch({ is: 'older', events: data, cursor: nextCursor })
    } catch (error) {
      dispatch({ is: 'failed', error })
    }
  }, [storeId, text, cursor])
  return { trail, showNew: () => dispatch({ is: 'show' }), readOlder, retry: () => setAttempt((n) => n + 1) }
}

/** Reads the first page and follows what comes, without a gap between them, until the function that it returns is called. */
function follow(storeId: string, userId: string, filters: Filters, dispatch: (action: Action) => void): () => void {
  const leaving = new AbortController()
  const { signal } = leaving
  const list = (query: Filters & { limit?: number }) => sk.store(storeId).events.list(query, { signal })
  let newest: Pick<Event, 'id' | 'position'> | undefined
  let hasRead = false
  let early: Event[] = []
  const came = (events: Event[]) => {
    for (const event of events) if ((event.position ?? 0) > (newest?.position ?? 0)) newest = event
    const wanted = events.filter((event) => matches(filters, event))
    if (!hasRead) early = [...wanted, ...early]
    else if (wanted.length > 0) dispatch({ is: 'came', events: wanted })
  }
  const read = async () => {
    // What is sealed now comes before everything that the page below does not have yet.
    newest = await newestSealed(list({ limit: 10 }))
    const { data, nextCursor } = await nextFound(list({ ...filters, limit: PAGE }))
    dispatch({ is: 'read', events: data, cursor: nextCursor })
    hasRead = true
    came(early)
    early = []
  }
  /** What happened while this tab was hidden, down to what it knows. */
  const catchUp = async () => {
    const missed: Event[] = []
    for await (const event of list({})) if (event.id === newest?.id || missed.push(event) > MAX_MISSED) break
    if (missed.length > MAX_MISSED) await read()
    else came(missed)
  }
  const stop = followTogether(storeId, userId, {
    after: () => newest?.id,
    onEvent: (event) => came([event]),
    onJoined: () => withSession(hasRead ? catchUp : read),
    onFailed: (error) => dispatch({ is: 'failed', error }),
  })
  return () => {
    leaving.abort()
    stop()
  }
}

/** In a store so new that nothing is sealed yet, its first event. */
async function newestSealed(events: AsyncIterable<Event>): Promise<Event | undefined> {
  let oldest: Event | undefined
  for await (const event of events) {
    if (event.position !== null) return event
    oldest = event
  }
  return oldest
}
