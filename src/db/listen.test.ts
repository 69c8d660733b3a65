import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { proxyTo } from '../../tests/db-proxy.ts'
import { newDatabase } from '../../tests/shop.ts'
import { startTicking } from '../../tests/ticks.ts'
import { type Listener, listen } from './listen.ts'

const NEVER = Number.NEGATIVE_INFINITY

test('words come in the order in which they were said, and what has been heard is never more than that', async () => {
  const { url, say } = await world()
  const { listener, words } = listening(url)
  await beating(listener)
  const saidAt: number[] = []
  for (let n = 0; n < 200; n++) {
    await say(String(n))
    saidAt.push(performance.now())
    const upTo = listener.caughtUpTo().mono
    // Whoever has heard up to a moment has heard all that was said before it.
    expect(words.length).toBeGreaterThanOrEqual(saidAt.filter((at) => at < upTo).length)
    await sleep(3)
  }
  await until(() => words.length === 200)
  expect(words).toEqual(Array.from({ length: 200 }, (_, n) => String(n)))
})

test('the heart beats only while somebody relies on it', async () => {
  const { url } = await world()
  const { listener } = listening(url)
  const first = await beating(listener)
  await until(() => listener.caughtUpTo().mono > first)
  await sleep(1500) // the beat that was asked for last has come back
  const before = listener.caughtUpTo().mono
  expect(before).toBeLessThan(performance.now() - 250)
  await until(() => listener.caughtUpTo().mono > before)
})

test('a word that was not committed is not said', async () => {
  const { url, look, say } = await world()
  const { listener, words } = listening(url)
  await beating(listener)
  await look.query(`begin; notify words, 'unsaid'; rollback`)
  await say('said')
  await until(() => words.length > 0)
  expect(words).toEqual(['said'])
})

test('when the connection is lost nothing counts as heard, and it is there again by itself', async () => {
  const { url, say, kill } = await world()
  const { listener, words, missed } = listening(url)
  const warnings: string[] = []
  const warned = (warning: Error) => warnings.push(warning.message)
  process.on('warning', warned)
  onTestFinished(() => void process.off('warning', warned))
  await beating(listener)
  for (let n = 0; n < 12; n++) {
    const before = missed()
    await kill()
    // Once when it is lost, once when it is there again: what was kept in between must not live on.
    await until(() => missed() > before)
    expect(listener.caughtUpTo().mono).toBe(NEVER)
    expect(listener.lag()).toBeGreaterThan(0)
    await until(() => missed() > before + 1)
    await beating(listener)
    await until(() => listener.lag() === 0)
    expect(missed()).toBe(before + 2)
    await say(`after ${n}`)
    await until(() => words.at(-1) === `after ${n}`)
  }
  expect(warnings).toEqual([])
})

test('a connection that is silent stops counting at once, and is given up', async () => {
  const { url } = await world()
  const wire = await proxyTo(url)
  const { listener, missed } = listening(wire.url)
  await beating(listener)
  const before = missed()
  await until(() => listener.lag() === 0)
  wire.mute()
  const muted = performance.now()
  const elapsed = startTicking()
  while (missed() === before) {
    expect(listener.caughtUpTo().mono).toBeLessThanOrEqual(muted)
    expect(elapsed()).toBeLessThan(4000)
    await sleep(20)
  }
  expect(listener.caughtUpTo().mono).toBe(NEVER)
  expect(listener.lag()).toBeGreaterThan(1)
  wire.cut()
  // A heartbeat proves that the new connection is alive, though nobody has asked for one.
  await until(() => listener.lag() === 0)
  await beating(listener)
})

test('a listener that is closed leaves no connection and says no more', async () => {
  const { url, look, say } = await world()
  const { listener, words } = listening(url)
  await beating(listener)
  await listener.close()
  await say('into the void')
  const left = `select from pg_stat_activity where datname = current_database() and application_name = 'storekeeper listener'`
  await until(async () => (await look.query(left)).rowCount === 0)
  expect(words).toEqual([])
  // Also when there was nobody to listen to.
  const nowhere = listening('postgres://nobody@127.0.0.1:1/nothing')
  await sleep(50)
  await nowhere.listener.close()
})

// ---- helpers --------------------------------------------------------------------------------------------------------

async function world() {
  const url = await newDatabase()
  const look = new pg.Client({ connectionString: url })
  look.on('error', () => {})
  await look.connect()
  onTestFinished(() => look.end())
  return {
    url,
    look,
    say: (word: string) => look.query('select pg_notify($1, $2)', ['words', word]),
    kill: () =>
      look.query(`
        select pg_terminate_backend(pid)
          from pg_stat_activity
         where datname = current_database()
           and application_name = 'storekeeper listener'`),
  }
}

function listening(url: string) {
  const words: string[] = []
  let missed = 0
  const handlers = { words: (word: string) => void words.push(word) }
  const listener = listen({ connectionString: url }, handlers, () => void (missed += 1))
  onTestFinished(() => listener.close())
  return { listener, words, missed: () => missed }
}

/** Waits until a beat has come back, and tells up to when. */
async function beating(listener: Listener): Promise<number> {
  await until(() => listener.caughtUpTo().mono > NEVER)
  return listener.caughtUpTo().mono
}

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + 60_000
  while (!(await isTrue())) {
    if (Date.now() > end) throw new Error('It did not come true within a minute')
    await sleep(5)
  }
}
