// The trail live, as server-sent events. Thousands of streams may be open while little happens, so waiting costs a
// timer and no query: a notification from the sealing pass wakes the streams of its store, and streams at the same
// position share one read. Notifications can be lost, so every two seconds one query reads the heads of all chains that
// are followed.
//
// A stream reads the next page only when the last one was sent, so a slow reader holds one page at most; http/ cuts off
// readers that take too long. Authorization is checked again before anything is sent, and every few seconds in between.
// Whoever resumes, and may be further behind than a page, takes turns with others who do, since a filter may let nothing of it
// through, and nobody else is to wait for connections meanwhile.

import type { AccountLookup } from '../auth/account.ts'
import { MINUTE, SECOND } from '../core/clock.ts'
import { newWakeTurns } from '../core/wake-turns.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import { newFairSemaphore } from '../limits/fair-semaphore.ts'
import { type EventNotifier, readSealed } from './log.ts'
import type { AuthorizationProbe, Channel, EventFeed, FeedTimings, SealedEvent } from './schema.ts'

const PAGE = 100
/** After it was read, a page serves streams that come to the same position. */
const SHARED_FOR_MS = 200
/** For streams that catch up: how many of their pages are read at a time. */
const CATCHING_UP = { inside: 2, waiting: Number.POSITIVE_INFINITY, waitMs: MINUTE }

export const FEED_TIMINGS: FeedTimings = {
  pollMs: 2 * SECOND,
  recheckMs: 3 * SECOND,
  batchMs: SECOND / 4,
  heartbeatMs: 15 * SECOND,
}

/** While a reader catches up and nothing that it wants comes. */
const PROGRESS_MS = 2 * SECOND

/** How long a reader waits before it reconnects, spread so that they do not all reconnect at once. */
const RETRY_MS = { least: 1_000, spread: 3_000 }

type SharedPage = { page: Promise<SealedEvent[]>; readers: AbortSignal[] }

/** One for each node. */
export function newEventFeed(
  db: Db,
  eventNotifier: EventNotifier,
  accountOf: AccountLookup,
  given: Partial<FeedTimings> = {},
): EventFeed {
  const timings = { ...FEED_TIMINGS, ...given }
  const channels = new Map<string, Channel>()
  const reading = new Map<string, SharedPage>()
  const catchingUp = newFairSemaphore(CATCHING_UP)
  const readInTurn = async (storeId: string, after: number, isWanted: () => boolean) => {
    const leave = await catchingUp.enter(await accountOf(storeId))
    return (isWanted() ? readSealed(db, storeId, after, PAGE) : Promise.resolve([])).finally(leave)
  }
  const waking = newWakeTurns()
  const wake = (channel: Channel) => {
    channel.notifications += 1
    for (const waiting of channel.wake) waking.add(channel.storeId, waiting)
    waking.begin()
  }
  const pollHeads = async () => {
    if (channels.size === 0) return
    for (const { chain, seq } of await readHeadPositions(db, [...channels.keys()])) {
      const channel = channels.get(chain)
      if (!channel || Number(seq) <= channel.seen) continue
      channel.seen = Number(seq)
      wake(channel)
    }
  }
  // A failed poll is made up for by the next one.
  const pollQuietly = () => void pollHeads().catch(() => {})
  const timer = setInterval(pollQuietly, timings.pollMs).unref()
  const stop = eventNotifier.subscribe((storeId) => {
    const channel = storeId === null ? pollQuietly() : channels.get(storeId)
    if (channel) wake(channel)
  })

  return {
    timings,
    join(storeId) {
      const channel = channels.get(storeId) ?? { storeId, streams: 0, notifications: 0, seen: 0, wake: new Set() }
      channel.streams += 1
      channels.set(storeId, channel)
      return channel
    },
    leave(channel) {
      channel.streams -= 1
      if (channel.streams === 0) channels.delete(channel.storeId)
    },
    read({ storeId, notifications }, after, isBehind, closing) {
      // One that began before a notification does not have what it told of, and one in turn may have to wait.
      const name = `${storeId} ${after} ${notifications} ${isBehind}`
      const shared = reading.get(name)
      if (shared !== undefined) {
        shared.readers.push(closing)
        return shared.page
      }
      const forget = () => void reading.delete(name)
      const readers = [closing]
      const isWanted = () => {
        const isAnybody = readers.some(({ aborted }) => !aborted)
        // Nobody gets the page that is not read.
        if (!isAnybody) forget()
        return isAnybody
      }
      const page = isBehind ? readInTurn(storeId, after, isWanted) : readSealed(db, storeId, after, PAGE)
      reading.set(name, { page, readers })
      // Streams that are woken later have it as well: what came since has a notification of its own.
      page.then(() => setTimeout(forget, isBehind ? 0 : SHARED_FOR_MS).unref(), forget)
      return page
    },
    close() {
      clearInterval(timer)
      waking.close()
      stop()
    },
  }
}

function readHeadPositions(db: Db, chains: string[]): Promise<{ chain: string; seq: string }[]> {
  return db.query(sql`
    select chain, seq
      from event_heads
     where chain = any(${chains})`)
}

type Subscription = {
  storeId: string
  after: number
  /** It may be more than a page behind: it begins anywhere but now. */
  resumes: boolean
  wants: (event: SealedEvent) => boolean
  stillAuthorized: AuthorizationProbe
  closing: AbortSignal
}

export async function* streamEvents(feed: EventFeed, subscription: Subscription): AsyncGenerator<string> {
  const { storeId, stillAuthorized, closing } = subscription
  const { timings } = feed
  const latestMs = timings.heartbeatMs - timings.recheckMs - timings.batchMs
  const channel = feed.join(storeId)
  let after = subscription.after
  let isBehind = subscription.resumes
  let sentAt = performance.now()
  try {
    yield `retry: ${Math.round(RETRY_MS.least + Math.random() * RETRY_MS.spread)}\n\n`
    while (!closing.aborted) {
      const seen = channel.notifications
      const reading = readPage(feed, channel, after, isBehind, subscription)
      while (!(await settlesWithin(reading, sentAt + latestMs - performance.now(), closing))) {
        if (closing.aborted) return
        yield ':\n\n'
        sentAt = performance.now()
      }
      const page = await reading
      if (page === 'forbidden') return
      isBehind = page.isFull
      const { last, text } = page
      if (last) {
        after = last.seq
        // Without an event that is wanted the reader is told how far it has come: it may be cut off and resume.
        if (text !== '' || performance.now() - sentAt >= PROGRESS_MS) {
          yield text === '' ? `id: ${last.id}\n\n` : text
          sentAt = performance.now()
        }
      }
      if (isBehind) continue
      while (channel.notifications === seen && !closing.aborted) {
        await pause(timings, channel, closing)
        if (channel.notifications === seen && (await stillAuthorized()) === 'no') return
        if (performance.now() - sentAt < latestMs) continue
        yield ':\n\n'
        sentAt = performance.now()
      }
    }
  } finally {
    feed.leave(channel)
  }
}

type Page = { text: string; last: { seq: number; id: string } | null; isFull: boolean }

/** As text: a reader may take long for it, and the events themselves need more memory. */
async function readPage(
  feed: EventFeed,
  channel: Channel,
  after: number,
  isBehind: boolean,
  { wants, stillAuthorized, closing }: Subscription,
): Promise<Page | 'forbidden'> {
  const events = await feed.read(channel, after, isBehind, closing)
  const last = events.at(-1)
  if (!last || closing.aborted) return { text: '', last: null, isFull: false }
  if ((await stillAuthorized()) !== 'yes') return 'forbidden'
  const text = events.filter(wants).map(asMessage).join('')
  return { text, last: { seq: last.seq, id: last.id }, isFull: events.length === PAGE }
}

/** False when the time is over before, or the stream closes. */
function settlesWithin(promise: Promise<unknown>, ms: number, closing: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const over = (isSettled: boolean) => {
      clearTimeout(timer)
      closing.removeEventListener('abort', onClosing)
      resolve(isSettled)
    }
    const onClosing = () => over(false)
    const timer = setTimeout(over, Math.max(0, ms), false)
    closing.addEventListener('abort', onClosing)
    promise.then(
      () => over(true),
      () => over(true),
    )
  })
}

/** Until a notification comes, or it is time to check the authorization again. */
function pause({ recheckMs, batchMs }: FeedTimings, channel: Channel, closing: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const over = () => {
      clearTimeout(timer)
      channel.wake.delete(over)
      closing.removeEventListener('abort', over)
      resolve()
    }
    const timer = setTimeout(over, recheckMs + batchMs - (performance.now() % batchMs))
    channel.wake.add(over)
    closing.addEventListener('abort', over)
  })
}

const messages = new WeakMap<SealedEvent, string>()

/** No `event:` line, so that a browser's `onmessage` receives every type. Serialized once for all streams. */
function asMessage(event: SealedEvent & { hash?: string }): string {
  const known = messages.get(event)
  if (known) return known
  const { seq: position, hash: _, ...shown } = event
  const message = `id: ${event.id}\ndata: ${JSON.stringify({ ...shown, position })}\n\n`
  messages.set(event, message)
  return message
}
