import { afterEach, beforeEach, expect, test } from 'vitest'
import { stopClock } from '../../tests/stopped-clock.ts'
import { now } from '../core/clock.ts'
import type { Message } from './outbox.ts'
import { newScheduler } from './scheduler.ts'

let clock: ReturnType<typeof stopClock>
beforeEach(() => {
  clock = stopClock()
})
afterEach(() => clock.goOn())

/** Each webhook answers after as many milliseconds as its name says. The name may say its host and, before it, its account. */
function stand(budget = { left: Number.POSITIVE_INFINITY }, takes = (id: string) => Number(id.split(' ')[0])) {
  const begun: string[] = []
  const left: string[] = []
  const scheduler = newScheduler({
    async send(queue, message) {
      begun.push(`${queue.id}/${message.id}`)
      budget.left -= 1
      await new Promise((resolve) => setTimeout(resolve, takes(queue.id)))
      queue.isGood = true
    },
    release: (messages) => void left.push(...messages.map(({ webhook_id, id }) => `${webhook_id}/${id}`)),
    mayStart: () => budget.left > 0,
    hostOf: ({ id }) => /@(.*)/.exec(id)?.[1] ?? null,
    onEmpty: () => {},
  })
  const put = (id: string, count: number) => {
    const queue = scheduler.queueOf(id)
    scheduler.setAccount(queue, /(\w+)@/.exec(id)?.[1] ?? /of (\w+)/.exec(id)?.[1] ?? id)
    for (let n = 1; n <= count; n++)
      scheduler.put(queue, { webhook_id: id, id: `${n}`, taken: now(), body: '{}' } as Message)
    scheduler.pump(queue)
  }
  const countOf = (id: string) => begun.filter((one) => one.startsWith(`${id}/`)).length
  return { scheduler, put, begun, left, countOf, pass: clock.pass }
}

test('one at a time until it has answered well, then four abreast', async () => {
  const { put, countOf, pass } = stand()
  put('100', 20)
  expect(countOf('100')).toBe(1)
  await pass(100)
  expect(countOf('100')).toBe(5)
  await pass(100)
  expect(countOf('100')).toBe(9)
})

test('a thousand that never answer are passed in a quarter of a second for each two hundred, and then not met again', async () => {
  const { put, countOf, pass } = stand()
  for (let n = 0; n < 1_000; n++) put(`99999999 ${n}`, 8)
  put('10', 3)
  await pass(5 * 250 - 1)
  expect(countOf('10')).toBe(0)
  await pass(2)
  expect(countOf('10')).toBe(1)
  await pass(20)
  expect(countOf('10')).toBe(3)
  for (let n = 0; n < 1_000; n++) put(`99999999 ${n}`, 1)
  put('10', 1)
  expect(countOf('10')).toBe(4)
})

test('where only a few requests may start at a time, those that take a second do not wait for all the fast ones', async () => {
  const budget = { left: Number.POSITIVE_INFINITY }
  const { scheduler, put, countOf, pass } = stand(budget)
  put('1000', 1)
  await pass(1_000)
  budget.left = 0
  for (let n = 0; n < 100; n++) put(`10 ${n} of eve`, 8)
  put('1000', 3)
  for (let n = 0; n < 5; n++) {
    budget.left = 10
    scheduler.pumpAll()
    await pass(100)
  }
  expect(countOf('1000')).toBeGreaterThan(1)
  expect(countOf('10 0 of eve')).toBeGreaterThan(0)
})

test('however many webhooks of one account never answer, one of another that takes seconds gets a place', async () => {
  const { put, countOf, pass } = stand()
  for (let n = 0; n < 700; n++) put(`99999999 ${n} of eve`, 1)
  await pass(6_000)
  put('2500 of ada', 2)
  await pass(2_500)
  expect(countOf('2500 of ada')).toBe(2)
  await pass(2_500)
  put('2500 of ada', 1)
  expect(countOf('2500 of ada')).toBe(3)
})

test('accounts take turns: whoever has one webhook does not wait for the thousand of another', async () => {
  const { scheduler, put, countOf, pass } = stand()
  for (let n = 0; n < 1_000; n++) put(`180 ${n} of eve`, 8)
  await pass(180)
  put('10 of ada', 3)
  expect(countOf('10 of ada')).toBe(0)
  // In the next place that becomes free, and then four abreast.
  await pass(180)
  expect(countOf('10 of ada')).toBe(1)
  await pass(180)
  expect(countOf('10 of ada')).toBe(3)
  // Eve has as much in memory as is left, so there is room for what others have.
  expect([scheduler.freeSlots('180 0 of eve'), scheduler.freeSlots('180 new', 'eve')]).toEqual([0, 0])
  expect([scheduler.freeSlots('10 of ada'), scheduler.isHalfFull(), scheduler.isFull()]).toEqual([100, true, false])
  expect(scheduler.freeSlotsOfAll()).toMatchObject({ '180 0 of eve': 0 })
})

test('a slow webhook does not wait for the thousand slow ones of another account', async () => {
  const { scheduler, put, countOf, pass } = stand()
  const others = Array.from({ length: 1_000 }, (_, n) => `9000 ${n} of eve`)
  for (const id of others) put(id, 1)
  put('5000 of ada', 1)
  await pass(20_000)
  expect([countOf('5000 of ada'), scheduler.isFast('5000 of ada')]).toEqual([1, false])
  for (const id of others) put(id, 1)
  await pass(1)
  expect([scheduler.freeSlots(others[999] as string), scheduler.freeSlots('5000 of ada')]).toEqual([0, 1])
  put('5000 of ada', 1)
  await pass(9_000)
  expect(countOf('5000 of ada')).toBe(2)
})

test('those that take almost two seconds wait among themselves, in turns', async () => {
  const { scheduler, put, countOf, pass } = stand()
  for (let n = 0; n < 600; n++) put(`1900 ${n}`, 8)
  await pass(10_000)
  const counts = Array.from({ length: 600 }, (_, n) => countOf(`1900 ${n}`))
  expect(Math.min(...counts)).toBeGreaterThan(1)
  expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(4)
  put('10', 1)
  expect(countOf('10')).toBe(1)
  expect([scheduler.isFast('10'), scheduler.isFast('1900 0')]).toEqual([true, false])
})

test('who was slow is so for two minutes, and keeps little at hand', async () => {
  const { scheduler, put, left, pass } = stand()
  put('3000', 6)
  await pass(250)
  expect(scheduler.isFast('3000')).toBe(false)
  await pass(1_750)
  // One waits; of the six, one is on its way.
  expect(left).toEqual(['3000/3', '3000/4', '3000/5', '3000/6'])
  await pass(4_000)
  expect(scheduler.inFlight()).toBe(0)
  await pass(119_999)
  expect(scheduler.isFast('3000')).toBe(false)
  await pass(1)
  expect(scheduler.isFast('3000')).toBe(true)
})

test('who was slow and has answered fast is slow no more', async () => {
  let tookMs = 3_000
  const { scheduler, put, pass } = stand(undefined, () => tookMs)
  put('shop', 1)
  await pass(3_000)
  expect(scheduler.isFast('shop')).toBe(false)
  tookMs = 100
  put('shop', 1)
  await pass(100)
  expect(scheduler.isFast('shop')).toBe(true)
})

test('a slow one has its place, however many more than there is room for another account has become slow with', async () => {
  const { scheduler, put, countOf, pass } = stand()
  put('3000 of ada', 1)
  await pass(3_000)
  for (let n = 0; n < 1_500; n++) put(`15000 ${n} of eve`, 1)
  await pass(4_000)
  expect(scheduler.inFlight()).toBe(1_500)
  put('3000 of ada', 1)
  expect(countOf('3000 of ada')).toBe(2)
})

test('who wants no more is not forgotten because nothing waits', async () => {
  const { scheduler, put, begun, pass } = stand()
  put('10', 1)
  scheduler.queueOf('10').refused = true
  await pass(10)
  put('10', 1)
  expect(begun).toEqual(['10/1'])
  scheduler.queueOf('10').refused = false
  scheduler.pump(scheduler.queueOf('10'))
  expect(begun).toEqual(['10/1', '10/1'])
})

test('what could not be begun within ten seconds is let go', async () => {
  const { scheduler, put, begun, left, pass } = stand()
  put('12000', 2)
  await pass(12_000)
  expect([begun, left, scheduler.waiting()]).toEqual([['12000/1'], ['12000/2'], 0])
})

test('for one that answers at once there is room for two hundred, and while two thousand wait for a hundred of its account', async () => {
  const { scheduler, put, pass } = stand()
  put('1', 1)
  expect([scheduler.freeSlots('1'), scheduler.freeSlots('never seen')]).toEqual([8, 8])
  put('100', 2)
  await pass(100)
  expect([scheduler.freeSlots('100'), scheduler.freeSlotsOfAll()]).toEqual([200, { 100: 200 }])
  put('100 other', 2_100)
  expect([scheduler.freeSlots('100'), scheduler.freeSlots('100 other'), scheduler.freeSlots('never seen')]).toEqual([
    100, 0, 8,
  ])
})

test('more slow ones than places get their share by turns', async () => {
  const { scheduler, put, pass } = stand()
  for (let n = 0; n < 520; n++) put(`14000 ${n} of eve`, 1)
  await pass(5_000)
  expect(scheduler.inFlight()).toBe(520)
  // The account has one in the line for the next place.
  expect(Object.values(scheduler.freeSlotsOfAll()).filter((room) => room > 0)).toEqual([1])
  await pass(10_000)
  expect(scheduler.inFlight()).toBe(0)
  const withNone = () => Object.entries(scheduler.freeSlotsOfAll()).flatMap(([id, room]) => (room === 0 ? [id] : []))
  const [first, second] = [withNone(), withNone()]
  expect([first.length, second.length]).toEqual([20, 20])
  expect(first.filter((id) => second.includes(id))).toEqual([])
})

test('a host gets so many at once and so many a second, whoever they are from, and holds up no other', async () => {
  const { put, begun, countOf, pass } = stand()
  for (let n = 0; n < 20; n++) put(`10 ${n} @victim`, 100)
  put('10 @other', 30)
  const toVictim = () => begun.filter((one) => one.includes('@victim')).length
  await pass(1_000)
  // The first second has what was saved up beside what it brings.
  expect(toVictim()).toBeGreaterThan(90)
  expect(toVictim()).toBeLessThanOrEqual(100)
  expect(countOf('10 @other')).toBe(30)
  await pass(4_000)
  expect(toVictim()).toBeGreaterThan(280)
  expect(toVictim()).toBeLessThanOrEqual(300)
  // In turns: no webhook of the host has had more than its share.
  const shares = Array.from({ length: 20 }, (_, n) => countOf(`10 ${n} @victim`))
  expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(5)
})

test('a host that never answers gets fifty at once', async () => {
  const { put, begun, countOf, pass } = stand()
  for (let n = 0; n < 80; n++) put(`99999999 ${n} @deaf`, 1)
  put('10', 3)
  await pass(5_000)
  expect(begun.filter((one) => one.includes('@deaf')).length).toBe(50)
  expect(countOf('10')).toBe(3)
})

/** How many of ten messages of another account, one every 400 ms, have not begun after 100 ms. */
async function countLate({ put, countOf, pass }: ReturnType<typeof stand>, id: string) {
  let late = 0
  for (let n = 1; n <= 10; n++) {
    put(id, 1)
    await pass(100)
    if (countOf(id) < n) late += 1
    await pass(300)
  }
  return late
}

test('an account with hundreds of webhooks at a host does not delay the one webhook of another account there', async () => {
  const scheduling = stand()
  const { scheduler, put, begun, pass } = scheduling
  for (let n = 0; n < 400; n++) put(`10 ${n} many@shared`, 8)
  await pass(2_000)
  expect(await countLate(scheduling, '10 one@shared')).toBe(0)
  // What the other account leaves is not lost: 50 saved up, and 50 in each of the six seconds.
  expect(begun.length).toBeGreaterThan(330)
  expect(begun.length).toBeLessThanOrEqual(350)
  // Nor are messages left in the table because of the others that wait.
  put('10 one@shared', 5)
  expect(scheduler.freeSlots('10 399 many@shared')).toBe(0)
  expect(scheduler.freeSlots('10 one@shared')).toBeGreaterThan(0)
})

test('an account whose webhooks are slow leaves places at a host to others', async () => {
  const scheduling = stand()
  const { put, begun, pass } = scheduling
  const countOfAccount = (account: string) => begun.filter((one) => one.includes(`${account}@slow`)).length
  for (let n = 0; n < 100; n++) put(`14000 ${n} many@slow`, 1)
  await pass(5_000)
  expect(countOfAccount('many')).toBe(37)
  expect(await countLate(scheduling, '10 one@slow')).toBe(0)
  // A second account with slow webhooks gets its quarter, and then all fifty places are taken.
  for (let n = 0; n < 100; n++) put(`14000 ${n} more@slow`, 1)
  await pass(1_000)
  expect([countOfAccount('many'), countOfAccount('more')]).toEqual([37, 13])
  // When the first requests are over, neither account keeps the other from its quarter.
  for (let n = 0; n < 100; n++) put(`14000 ${n} many@slow`, 1)
  await pass(4_500)
  const [many, more] = [countOfAccount('many') - 37, countOfAccount('more')]
  expect(many + more).toBe(37)
  expect(Math.min(many, more)).toBeGreaterThanOrEqual(13)
})
