import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { newTurns, type Turn } from './turns.ts'

const USER = { kind: 'user', id: 'user_a' }
const OTHER_USER = { kind: 'user', id: 'user_b' }
const KEY = { kind: 'key', id: 'key_a' }
const OTHER_KEY = { kind: 'key', id: 'key_b' }
const REFUSED = { code: 'unavailable', details: { retryAfterSeconds: 1 } }

/** Work that lasts until it is told to end. */
function work() {
  let end = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const state = { begun: false, end }
  const run = async () => {
    state.begun = true
    await ended
  }
  return { state, run }
}

test('a holder has three at a time, the others come in their order, and nobody else waits', async () => {
  const inTurn = newTurns()
  const works = Array.from({ length: 5 }, work)
  const done = works.map(({ run }) => inTurn({ holder: 'store_a', caller: USER }, run))
  const other = work()
  const otherDone = inTurn({ holder: 'store_b', caller: USER }, other.run)
  await turn()
  const begun = () => works.map(({ state }) => state.begun)
  expect(begun()).toEqual([true, true, true, false, false])
  expect(other.state.begun).toBe(true)
  works[1]?.state.end()
  await done[1]
  await turn()
  expect(begun()).toEqual([true, true, true, true, false])
  for (const { state } of [...works, other]) state.end()
  await Promise.all([...done, otherDone])
  expect(begun()).toEqual([true, true, true, true, true])
})

test('many holders have one place each and share two more, which pass on to whoever waits', async () => {
  const inTurn = newTurns()
  const holders = ['a', 'b', 'c', 'd'].map((holder) => {
    const works = Array.from({ length: 3 }, work)
    return { works, done: works.map(({ run }) => inTurn({ holder, caller: USER }, run)) }
  })
  await turn()
  const begun = () => holders.map(({ works }) => works.filter(({ state }) => state.begun).length)
  const [first, second] = holders as [(typeof holders)[0], (typeof holders)[0]]
  expect(begun()).toEqual([3, 1, 1, 1])
  first.works[0]?.state.end()
  await first.done[0]
  await turn()
  expect(begun()).toEqual([3, 2, 1, 1])
  // The last of a holder frees no extra place, and the other one goes to whoever has had none yet.
  for (const { state } of first.works) state.end()
  await Promise.all(first.done)
  await turn()
  expect(begun()).toEqual([3, 2, 2, 1])
  // A holder whose own requests wait gives an extra place to one that has fewer.
  second.works[0]?.state.end()
  await second.done[0]
  await turn()
  expect(begun()).toEqual([3, 2, 2, 2])
  second.works[1]?.state.end()
  await second.done[1]
  await turn()
  expect(begun()).toEqual([3, 3, 2, 2])
  for (const { works } of holders) for (const { state } of works) state.end()
  await Promise.all(holders.flatMap(({ done }) => done))
  expect(begun()).toEqual([3, 3, 3, 3])
  // All places are free again.
  const again = Array.from({ length: 4 }, work)
  const done = again.map(({ run }) => inTurn({ holder: 'a', caller: USER }, run))
  await turn()
  expect(again.map(({ state }) => state.begun)).toEqual([true, true, true, false])
  for (const { state } of again) state.end()
  await Promise.all(done)
})

test('whoever waits too long is refused, and takes no place; a failure gives its place to the next', async () => {
  const inTurn = newTurns(20)
  const works = Array.from({ length: 3 }, work)
  const done = works.map(({ run }) => inTurn({ holder: 'store_a', caller: USER }, run))
  const late = work()
  await expect(inTurn({ holder: 'store_a', caller: USER }, late.run)).rejects.toMatchObject(REFUSED)
  for (const { state } of works) state.end()
  await Promise.all(done)
  const failing = () => Promise.reject(new Error('refused'))
  for (let n = 0; n < 5; n++)
    await expect(inTurn({ holder: 'store_a', caller: USER }, failing)).rejects.toThrow('refused')
  expect(await inTurn({ holder: 'store_a', caller: USER }, async () => 'fine')).toBe('fine')
  expect(late.state.begun).toBe(false)
})

/** All places of a store are taken, and `ask` asks for more. Who had their turn is seen when `end` gives the places back. */
function busyStore() {
  const inTurn = newTurns(60_000)
  const works = Array.from({ length: 3 }, work)
  const running = works.map(({ run }) => inTurn({ holder: 'store_a', caller: USER }, run))
  const begun: string[] = []
  const ask = (caller: { kind: string; id: string }, name = '', purpose?: Turn['purpose']) => {
    const asked = inTurn({ holder: 'store_a', caller, purpose }, async () => void begun.push(`${caller.id}${name}`))
    asked.catch(() => {})
    return asked
  }
  const askOften = (caller: { kind: string; id: string }, count: number) =>
    Array.from({ length: count }, (_, n) => ask(caller, ` ${n + 1}`))
  const end = async () => {
    for (const { state } of works) state.end()
    await Promise.all(running)
  }
  return { ask, askOften, end, begun }
}

test('people come before keys, and both take turns, each with their own requests in order', async () => {
  const { ask, askOften, end, begun } = busyStore()
  const all = [
    ...askOften(KEY, 4),
    ...askOften(OTHER_KEY, 2),
    ...askOften(USER, 3),
    ask({ kind: 'system', id: 'storekeeper' }),
    ...askOften(OTHER_USER, 2),
  ]
  await end()
  await Promise.all(all)
  expect(begun).toEqual([
    ...['user_a 1', 'storekeeper', 'user_b 1', 'user_a 2', 'user_b 2', 'user_a 3'],
    ...['key_a 1', 'key_b 1', 'key_a 2', 'key_b 2', 'key_a 3', 'key_a 4'],
  ])
})

test('in a full line, whoever comes with fewer takes the place of whoever has most, and people take that of keys', async () => {
  const { ask, askOften, end, begun } = busyStore()
  const keys = askOften(KEY, 50)
  const refused = [ask(KEY)]
  const other = [ask(OTHER_KEY, ' 1')]
  const person = askOften(USER, 2)
  for (const one of [...refused, ...keys.slice(-3)]) await expect(one).rejects.toMatchObject(REFUSED)
  // A person with more still comes before a key with fewer.
  other.push(...askOften(USER, 45))
  expect(await Promise.allSettled(keys.slice(2, 47))).toEqual(
    Array.from({ length: 45 }, () => expect.objectContaining({ status: 'rejected' })),
  )
  await end()
  await Promise.all([...keys.slice(0, 2), ...other, ...person])
  expect(begun.slice(-3)).toEqual(['key_a 1', 'key_b 1', 'key_a 2'])
  expect(begun).toHaveLength(50)
})

test('a line full of people has no place for keys, but for people with fewer requests', async () => {
  const { ask, askOften, end, begun } = busyStore()
  const people = askOften(USER, 50)
  await expect(ask(KEY)).rejects.toMatchObject(REFUSED)
  await expect(ask(USER)).rejects.toMatchObject(REFUSED)
  const other = ask(OTHER_USER)
  await expect(people[49]).rejects.toMatchObject(REFUSED)
  await end()
  await Promise.all([...people.slice(0, 49), other])
  expect(begun.slice(0, 3)).toEqual(['user_a 1', 'user_b', 'user_a 2'])
})

test('whoever erases themselves comes after everybody else, and keeps nobody out of a full line', async () => {
  const { ask, askOften, end, begun } = busyStore()
  const strangers = Array.from({ length: 10 }, (_, n) => ask({ kind: 'user', id: `stranger_${n}` }, '', 'erase'))
  // Nobody has two more than the one who comes.
  await expect(ask({ kind: 'user', id: 'one_more' }, '', 'erase')).rejects.toMatchObject(REFUSED)
  const [owner, keys] = [ask(USER), askOften(KEY, 49)]
  await end()
  await Promise.all([owner, ...keys, ...strangers])
  expect(begun.slice(0, 4)).toEqual(['user_a', 'key_a 1', 'key_a 2', 'stranger_0'])
})

test('however many others keep asking, whoever erases themselves has a place and every fourth turn', async () => {
  const { ask, askOften, end, begun } = busyStore()
  const early = ask({ kind: 'user', id: 'early' }, '', 'erase')
  const others = [...askOften(USER, 25), ...askOften(KEY, 25)]
  const late = ask({ kind: 'user', id: 'late' }, '', 'erase')
  // The line is full, and those who erase themselves give way to nobody.
  await expect(ask(KEY)).rejects.toMatchObject(REFUSED)
  await end()
  await Promise.all([...others, early, late])
  expect(begun.slice(0, 8)).toEqual([
    ...['user_a 1', 'user_a 2', 'user_a 3', 'early'],
    ...['user_a 4', 'user_a 5', 'user_a 6', 'late'],
  ])
})

const stranger = (n: number) => ({ kind: 'user', id: `stranger_${n}` })

test('visitors come last: those who leave or accept an invitation, then those who join', async () => {
  const { ask, askOften, end, begun } = busyStore()
  const all = [
    ...[ask(stranger(1), ' joins 1', 'join'), ask(stranger(1), ' joins 2', 'join'), ask(stranger(2), ' joins', 'join')],
    ...[ask(stranger(3), ' leaves', 'leave'), ask(stranger(4), ' accepts', 'accept')],
    ...[ask(stranger(5), ' erased', 'erase'), ...askOften(KEY, 2), ask(USER)],
  ]
  await end()
  await Promise.all(all)
  expect(begun).toEqual([
    ...['user_a', 'key_a 1', 'key_a 2', 'stranger_5 erased', 'stranger_3 leaves', 'stranger_4 accepts'],
    ...['stranger_1 joins 1', 'stranger_2 joins', 'stranger_1 joins 2'],
  ])
})

test('visitors fill no places but their own, and those who leave take the places of those who join', async () => {
  const { ask, askOften, end, begun } = busyStore()
  const joining = Array.from({ length: 50 }, (_, n) => ask(stranger(n), '', 'join'))
  await expect(ask(stranger(50), '', 'join')).rejects.toMatchObject(REFUSED)
  const leaves = ask(stranger(51), '', 'leave')
  await expect(joining[49]).rejects.toMatchObject(REFUSED)
  const others = [...askOften(USER, 25), ...askOften(KEY, 25)]
  const erased = Array.from({ length: 10 }, (_, n) => ask(stranger(100 + n), '', 'erase'))
  await end()
  await Promise.all([...others, ...erased, leaves, ...joining.slice(0, 49)])
  expect(begun).toHaveLength(50 + 10 + 50)
})

test('however many others keep asking, visitors have every eighth turn, and use up none of those who erase themselves', async () => {
  const { ask, askOften, end, begun } = busyStore()
  const joining = Array.from({ length: 20 }, (_, n) => ask(stranger(n), '', 'join'))
  const others = askOften(USER, 40)
  const erased = Array.from({ length: 5 }, (_, n) => ask({ kind: 'user', id: `erased_${n}` }, '', 'erase'))
  await end()
  await Promise.all([...joining, ...others, ...erased])
  const places = (name: string) => begun.flatMap((one, n) => (one.startsWith(name) ? [n] : []))
  expect(places('erased')).toEqual([3, 7, 11, 15, 19])
  expect(places('stranger').slice(0, 3)).toEqual([8, 16, 24])
})

test('one visitor works at a time, only when nobody else does, and the owner begins beside them at once', async () => {
  const inTurn = newTurns(60_000)
  const visits = Array.from({ length: 3 }, work)
  const done = visits.map(({ run }, n) => inTurn({ holder: 'store_a', caller: stranger(n), purpose: 'join' }, run))
  const owner = work()
  const ownerDone = inTurn({ holder: 'store_a', caller: USER }, owner.run)
  await turn()
  const begun = () => [...visits, owner].map(({ state }) => state.begun)
  expect(begun()).toEqual([true, false, false, true])
  visits[0]?.state.end()
  await done[0]
  await turn()
  // The owner may have found the lock held: no visitor comes between their tries.
  expect(begun()).toEqual([true, false, false, true])
  owner.state.end()
  await ownerDone
  await turn()
  expect(begun()).toEqual([true, true, false, true])
  for (const { state } of visits) state.end()
  await Promise.all(done)
})

/** Whoever has a turn works until `running` is ended. */
function manyStores() {
  const inTurn = newTurns(60_000)
  const running = work()
  const ask = (holder: string, caller: { kind: string; id: string }, purpose?: Turn['purpose']) => {
    const asked = inTurn({ holder, caller, purpose }, running.run)
    asked.catch(() => {})
    return asked
  }
  return { ask, running }
}

test('visitors of many stores refuse only each other', async () => {
  const { ask, running } = manyStores()
  const extra = [ask('busy', USER), ask('busy', USER), ask('busy', USER)]
  // One works in each of four stores, and thirty wait: all places of visitors are taken.
  const visits = Array.from({ length: 4 * 31 }, (_, n) => ask(`store_${n % 4}`, stranger(n), 'join'))
  await expect(ask('store_0', stranger(200), 'join')).rejects.toMatchObject(REFUSED)
  const people = Array.from({ length: 50 }, (_, n) => ask('store_0', { kind: 'user', id: `person_${n}` }))
  // The longest line makes room for a visitor of another store.
  const elsewhere = [ask('busy', stranger(201), 'join')]
  running.state.end()
  await Promise.all([...extra, ...people, ...elsewhere])
  const ends = await Promise.allSettled(visits)
  expect(ends.filter(({ status }) => status === 'rejected')).toHaveLength(1)
})

test('in a full line of people with as many requests each, whoever comes is refused', async () => {
  const { ask, end, begun } = busyStore()
  const people = Array.from({ length: 50 }, (_, n) => ask({ kind: 'user', id: `user_${n}` }))
  await expect(ask(USER)).rejects.toMatchObject(REFUSED)
  await end()
  await Promise.all(people)
  expect(begun).toHaveLength(50)
})

test('one caller waits with sixty requests at most, and when many wait for many holders, only with few', async () => {
  const inTurn = newTurns(60_000)
  const running = work()
  const fill = (caller: { kind: string; id: string }, count: number) =>
    Array.from({ length: count }, (_, n) => inTurn({ holder: `store_${n % 10}`, caller }, running.run))
  // Ten have their turn, and two more.
  const first = fill(USER, 12)
  const sixty = fill(USER, 60)
  await expect(inTurn({ holder: 'store_0', caller: USER }, running.run)).rejects.toMatchObject(REFUSED)
  const more = fill(OTHER_USER, 60)
  await expect(inTurn({ holder: 'store_0', caller: OTHER_USER }, running.run)).rejects.toMatchObject(REFUSED)
  // Those who come with few still have a place.
  const few = [...fill(KEY, 3)]
  await expect(inTurn({ holder: 'store_0', caller: KEY }, running.run)).rejects.toMatchObject(REFUSED)
  running.state.end()
  await Promise.all([...first, ...sixty, ...more, ...few])
})

test('when all places are taken, the longest line makes room for those who wait in a shorter one', async () => {
  const inTurn = newTurns(60_000)
  const running = work()
  const ask = (holder: string, caller: { kind: string; id: string }) => {
    const asked = inTurn({ holder, caller }, running.run)
    asked.catch(() => {})
    return asked
  }
  // Three stores, each with a request that works, two more that do, and six keys that ask again and again.
  const busy = Array.from({ length: 3 * 60 }, (_, n) =>
    ask(`busy_${n % 3}`, { kind: 'key', id: `key_${n % 18}` }).then(
      () => 'done',
      () => 'refused',
    ),
  )
  const others = Array.from({ length: 10 }, () => ask('other', KEY))
  // Of lines that are as long, each has its own to refuse.
  await expect(ask('busy_0', { kind: 'key', id: 'key_0' })).rejects.toMatchObject(REFUSED)
  running.state.end()
  await Promise.all(others)
  const done = (await Promise.all(busy)).filter((end) => end === 'done').length
  // Those that worked, and those that waited, but for the places that others took beyond their first few.
  expect(done).toBe(5 + 120 - 6)
})

test('callers with few requests have a place beyond that, and when those are taken too, the longest line makes room', async () => {
  const { ask, running } = manyStores()
  // 48 in each of five lines: 240 wait, and nobody with more than two requests.
  const busy = Array.from({ length: 7 + 5 * 48 }, (_, n) =>
    ask(`busy_${n % 5}`, { kind: 'user', id: `user_${n >> 1}` }),
  )
  const begins = ask('other', KEY)
  const waits = [ask('other', OTHER_KEY), ask('busy_0', KEY, 'erase')]
  running.state.end()
  await Promise.all([begins, ...waits])
  const ends = await Promise.allSettled(busy)
  expect(ends.filter(({ status }) => status === 'rejected')).toHaveLength(2)
})
