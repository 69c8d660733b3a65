// What happens when … : each event that can befall a back end, by the pure machine and moments of our own.

import { expect, test } from 'vitest'
import { mintToken } from '../../../../src/crypto/tokens.ts'
import { LEASE, VALID } from '../../../../tests/in-process/examples.ts'
import type { Verdict } from '../api.gen.ts'
import { isMalformed } from './form.ts'
import { closeStream, forget, isSilent, newMachine, onFrame, openStream, stateOf } from './machine.ts'
import { answer, onAnswer } from './memory.ts'
import type { Lease, Question } from './types.ts'
import { endReport, nextReport } from './usage.ts'

const at = (mono: number, wall = mono) => ({ mono, wall })
const ASKED: Question = { key: 'k', storeId: 'store_1' }

/** A machine with a stream that was asked for at 1,000, and read by the node when its clock said 50,000. */
function world({ from = 50_000, catalogue = 'c' } = {}) {
  const machine = newMachine(() => 0.5)
  let stream = openStream(machine, at(1_000))
  let id = 0
  const frame = (event: string, data: object, now = at(1_010)) => {
    id += 1
    return onFrame(machine, stream, { event, id: String(id), data: JSON.stringify(data) }, now)
  }
  const hello = { node: 'n', at: 50_000, from, prefix: 'skp', catalogue, beatMs: 500, trustMs: 1_500 }
  frame('hello', hello)
  return {
    machine,
    stream: () => stream,
    hello,
    frame,
    reopen: (now = at(3_000)) => {
      closeStream(machine, stream)
      stream = openStream(machine, now)
      id = 0
      return stream
    },
    keep: (now = 1_100, lease: Partial<Lease> = {}, question = ASKED, verdict: Verdict = VALID, hash = 'h') =>
      onAnswer(machine, hash, question, verdict, { ...LEASE, ...lease }, at(now), at(now + 5)),
    ask: (now: number, more: object = {}, wall = now, hash = 'h') =>
      answer(machine, hash, { ...ASKED, ...more } as Question, now, wall)?.code ?? null,
  }
}

test('a beat counts from the sending of the request, however late it comes in', () => {
  const { keep, ask, frame, machine } = world()
  keep()
  expect([ask(2_599), ask(2_601)]).toEqual(['VALID', null])
  // The node had heard all up to 2 s after it read the request: at 2,980 here, or later.
  frame('beat', { heardUpTo: 52_000 }, at(4_400))
  expect([ask(4_479), ask(4_481)]).toEqual(['VALID', null])
  expect([stateOf(machine, at(4_479)), stateOf(machine, at(4_481))]).toEqual(['covered', 'silent'])
  // What a stopped process finds in its socket is old, and both clocks went on.
  frame('beat', { heardUpTo: 52_500 }, at(9_000))
  expect(ask(9_000)).toBe(null)
})

test('a change drops a key, or all keys of a store, and an answer from before it is not kept', () => {
  for (const id of ['key_1', 'store_1']) {
    const { keep, ask, frame, machine } = world()
    keep()
    frame('changed', { ids: [id] }, at(1_200))
    expect(ask(1_200)).toBe(null)
    keep(1_199)
    expect(ask(1_206)).toBe(null)
    // Asked after the change was heard, but answered by a node whose knowledge is from before.
    keep(1_300, { ageMs: 150 })
    expect(ask(1_306)).toBe(null)
    keep(1_300, { ageMs: 50 })
    expect(ask(1_306)).toBe('VALID')
    expect(machine.memory.byId.size).toBe(2)
  }
})

test('a key and its grace end on the clocks of this process, a little early', () => {
  const { keep, ask, frame } = world()
  keep(1_100, { validForMs: 1_000 })
  expect([ask(2_089), ask(2_091), ask(2_000, {}, 2_091)]).toEqual(['VALID', null, null])
  frame('beat', { heardUpTo: 51_000 }, at(2_050))
  expect(ask(2_091)).toBe(null)
})

test('clocks: set forward costs a question, set back nothing, standing still is noticed', () => {
  const { keep, ask, frame, machine } = world()
  keep()
  frame('beat', { heardUpTo: 51_000 }, at(2_050))
  expect(ask(2_060, {}, 60_000)).toBe(null)
  expect(ask(2_060, {}, -60_000)).toBe('VALID')
  // The time of day is wrong for this stream from now on: another one is asked for.
  expect(frame('beat', { heardUpTo: 51_500 }, at(2_600, 60_000))).toBe('again')
  // Here 1 s has passed, and at the node 8 s: this machine slept.
  expect(frame('beat', { heardUpTo: 58_000 }, at(2_100, 9_100))).toBe('stop')
  expect(machine.counters.clockAhead).toBe(1)
  expect(ask(2_601)).toBe(null)
})

test('a stream that is resumed in time costs no question, on whichever node', () => {
  const { keep, ask, frame, reopen, machine, hello } = world()
  keep()
  frame('beat', { heardUpTo: 51_000 }, at(2_050))
  const { back } = reopen(at(3_000))
  // 1.01 times the 1,010 ms since the beat, and 2 s for the travel of the request.
  expect(back).toBe(3_023)
  expect([ask(3_400), ask(3_500)]).toEqual(['VALID', null])
  frame('hello', { ...hello, node: 'm', at: 7_000, from: 7_000 - back }, at(3_600))
  expect(ask(3_600)).toBe(null)
  frame('beat', { heardUpTo: 7_500 }, at(3_610))
  expect(ask(3_620)).toBe('VALID')
  expect(machine.counters).toMatchObject({ streams: 2, resumed: 1 })
})

test('a stream that cannot be resumed begins anew', () => {
  for (const wrong of ['the node has listened for too short', 'hello was late', 'a minute has passed']) {
    const { keep, ask, frame, reopen, hello } = world()
    keep()
    frame('beat', { heardUpTo: 51_000 }, at(2_050))
    const long = wrong === 'a minute has passed' ? 70_000 : 3_000
    const { back } = reopen(at(long))
    expect(back === 0).toBe(long === 70_000)
    const from = wrong === 'the node has listened for too short' ? 7_001 - back : 7_000 - Math.max(back, 65_000)
    const heard = wrong === 'hello was late' ? long + 2_001 : long + 10
    frame('hello', { ...hello, at: 7_000, from }, at(heard))
    frame('beat', { heardUpTo: 7_000 + 2_500 }, at(heard + 500))
    expect(ask(heard + 501)).toBe(null)
  }
})

test('a reset begins anew, and what is out of order, unknown or no JSON ends the stream', () => {
  const first = world()
  first.keep()
  first.frame('reset', { from: 51_000 }, at(1_500))
  first.frame('beat', { heardUpTo: 52_000 }, at(3_010))
  expect([first.ask(2_599), first.ask(2_601)]).toEqual(['VALID', null])
  first.keep(3_020)
  first.frame('beat', { heardUpTo: 54_000 }, at(5_010))
  expect(first.ask(5_020)).toBe('VALID')

  const wrong: [string, string, string][] = [
    ['beat', '3', '{"heardUpTo":51000}'],
    ['renamed', '2', '{}'],
    ['constructor', '2', '{}'],
    ['beat', '2', '{"heardUpTo"'],
    ['beat', '2', 'null'],
    ['beat', '2', '{"heardUpTo":"51000"}'],
    ['changed', '2', '{"ids":"key_1"}'],
    ['hello', '2', '{"at":1,"from":1,"catalogue":"c"}'],
  ]
  for (const [event, id, data] of wrong) {
    const { machine, keep, ask, stream } = world()
    keep()
    expect(onFrame(machine, stream(), { event, id, data }, at(1_200))).toBe('stop')
    expect([ask(2_599), ask(2_601)]).toEqual(['VALID', null])
    expect(openStream(machine, at(2_000)).back).toBe(0)
    expect(machine.counters.broken).toBe(1)
  }
  const { machine, frame, stream, reopen } = world()
  const old = stream()
  reopen()
  expect(onFrame(machine, old, { event: 'beat', id: '2', data: '{"heardUpTo":1}' }, at(3_001))).toBe('stop')
  expect(machine.counters.broken).toBe(0)
  expect(frame('bye', {}, at(3_001))).toBe('stop')
})

test('a silent stream is given up, and so is one whose beats say nothing new', () => {
  const { machine, frame, reopen } = world()
  expect([isSilent(machine, at(2_210)), isSilent(machine, at(2_211))]).toEqual([false, true])
  for (let now = 1_500; now <= 5_500; now += 500) frame('beat', { heardUpTo: 50_100 }, at(now))
  expect(isSilent(machine, at(5_500))).toBe(true)
  reopen(at(6_000))
  expect([isSilent(machine, at(8_000)), isSilent(machine, at(8_001))]).toEqual([false, true])
  expect(stateOf(machine, at(8_000))).toBe('asking')
})

test('another catalogue empties the memory, and answers of another are used once', () => {
  const { keep, ask, frame, reopen, hello } = world()
  keep(1_100, { catalogue: 'd' })
  expect(ask(1_110)).toBe(null)
  keep()
  reopen()
  frame('hello', { ...hello, catalogue: 'd' }, at(1_400))
  expect(ask(1_410)).toBe(null)
})

test('everything that differs from question to question is looked at each time', () => {
  const { keep, ask, machine } = world()
  keep()
  const answers = (more: object) => ask(1_200, more)
  const yes = [
    {},
    { permissions: ['WRITE', 'READ'] },
    { anyPermissions: ['NONE', 'READ'] },
    { types: ['DEV', 'PROD'] },
    { ip: '192.0.2.1' },
    { cost: 5 },
    { explain: undefined },
  ]
  const no = [
    { permissions: ['READ', 'MANAGE_KEYS'] },
    { anyPermissions: ['MANAGE_KEYS'] },
    { anyPermissions: [] },
    { types: ['DEV'] },
    { storeId: 'store_2' },
    { anyStore: true },
    { storeId: undefined },
    { storeId: undefined, anyStore: true },
    { limits: [{ name: 'exports' }] },
    { explain: true },
    { fromTheFuture: true },
  ]
  expect(yes.map(answers)).toEqual(yes.map(() => 'VALID'))
  expect(no.map(answers)).toEqual(no.map(() => null))
  // A way to name the store is known to be right once the service has answered it.
  keep(1_150, {}, { key: 'k', anyStore: true })
  expect(answers({ storeId: undefined, anyStore: true })).toBe('VALID')
  expect(answers({})).toBe('VALID')
  expect(answers({ storeId: undefined })).toBe(null)
  machine.memory.storeId = 'store_1'
  expect(answers({ storeId: undefined })).toBe('VALID')
})

test('a key with an allow-list is kept for each address, 16 at most', () => {
  const { keep, ask, machine, frame } = world()
  for (let n = 0; n < 20; n++) keep(1_100 + n, { byAddress: true }, { ...ASKED, ip: `192.0.2.${n}` })
  expect([ask(1_200, { ip: '192.0.2.3' }), ask(1_200, { ip: '192.0.2.4' }), ask(1_200)]).toEqual([null, 'VALID', null])
  expect(machine.memory.entries.size).toBe(16)
  keep(1_150, { byAddress: true })
  expect(ask(1_200)).toBe(null)
  frame('changed', { ids: ['key_1'] }, at(1_200))
  expect([machine.memory.entries.size, machine.memory.bound.size, machine.memory.byId.size]).toEqual([0, 0, 0])
})

test('only VALID with a lease is kept; a refusal ends what memory says, and is counted', () => {
  const { keep, ask, machine } = world()
  onAnswer(machine, 'h', ASKED, VALID, null, at(1_100), at(1_105))
  expect([ask(1_110), machine.memory.spending.has('h')]).toEqual([null, true])
  const refused: Verdict = { ...VALID, valid: false, code: 'REVOKED' }
  for (let n = 0; n < 1_000_000; n++) onAnswer(machine, `h${n}`, ASKED, refused, null, at(1_100), at(1_105))
  expect([machine.memory.entries.size, machine.memory.spending.size, machine.memory.byId.size]).toEqual([0, 1, 0])
  keep()
  keep(1_100, {}, { ...ASKED, permissions: ['MANAGE_KEYS'] }, { ...refused, code: 'INSUFFICIENT_PERMISSIONS' })
  expect([ask(1_110), machine.memory.counters.surprised]).toEqual(['VALID', 0])
  keep(1_120, {}, ASKED, refused)
  expect([ask(1_130), machine.memory.counters.surprised]).toEqual([null, 1])
  keep(1_140)
  forget(machine)
  expect(ask(1_150)).toBe(null)
})

test('nonsense in a lease is not trusted', () => {
  const wrong = [{ ageMs: Number.NaN }, { ageMs: undefined }, { validForMs: undefined }, { catalogue: undefined }]
  for (const lease of wrong) {
    const { keep, ask } = world()
    keep(1_100, lease as unknown as Lease)
    expect(ask(1_110)).toBe(null)
  }
})

test('10,000 keys and 8 million characters are kept, the oldest go', () => {
  const { keep, machine, ask } = world()
  const large = { ...VALID, metadata: { text: 'x'.repeat(15_000) } }
  for (let n = 0; n < 10_050; n++) keep(1_100, {}, ASKED, { ...VALID, keyId: `key_${n}` }, `h${n}`)
  expect([machine.memory.entries.size, ask(1_110, {}, 1_110, 'h49'), ask(1_110, {}, 1_110, 'h50')]).toEqual([
    10_000,
    null,
    'VALID',
  ])
  for (let n = 0; n < 1_000; n++) keep(1_200, {}, ASKED, { ...large, keyId: `key_${n}` }, `h${n}`)
  expect(machine.memory.chars).toBeLessThanOrEqual(8_000_000)
  expect(machine.memory.entries.size).toBeGreaterThan(500)
})

test('uses are reported with a number, again as they were until they are answered', () => {
  const { keep, ask, machine } = world()
  keep()
  ask(1_200, { permissions: ['READ'] })
  ask(1_300)
  const reports = { seq: 0, batch: null }
  const next = (now: number) => nextReport(reports, machine.memory, now)
  const first = next(1_400)
  expect(first).toEqual({
    seq: 1,
    counts: [{ keyId: 'key_1', secret: 1, valid: 2, agoMs: 100, permissions: { READ: 100 } }],
  })
  ask(1_500)
  expect(next(1_600)).toMatchObject({ seq: 1, counts: [{ valid: 2, agoMs: 300 }] })
  endReport(reports)
  expect(next(1_600)).toMatchObject({ seq: 2, counts: [{ valid: 1, agoMs: 100, permissions: {} }] })
  endReport(reports)
  expect(next(1_700)).toBe(null)
  // After five minutes the key is asked for again, which counts as the use.
  machine.heard = at(301_200)
  expect([ask(301_200), machine.memory.isRenewalDue, next(301_200)]).toEqual(['VALID', true, null])
})

test('of however many permissions, those that were asked for are reported', () => {
  const { keep, ask, machine } = world()
  const permissions = Array.from({ length: 500 }, (_, n) => `CUSTOM_${n}`)
  keep(1_100, {}, ASKED, { ...VALID, permissions })
  const asked = ['CUSTOM_0', 'CUSTOM_31', 'CUSTOM_32', 'CUSTOM_499']
  for (const permission of asked) ask(1_200, { permissions: [permission] })
  const reports = { seq: 0, batch: null }
  expect(Object.keys(nextReport(reports, machine.memory, 1_300)?.counts[0]?.permissions ?? {})).toEqual(asked)
  endReport(reports)
  ask(1_400)
  expect(nextReport(reports, machine.memory, 1_500)?.counts[0]?.permissions).toEqual({})
})

test('only what can be no key of the service is refused by its form', () => {
  const key = mintToken('skp', 'prod').reveal()
  expect(isMalformed('skp', key)).toBe(false)
  const wrong = [
    key.slice(1),
    `${key}0`,
    key.slice(0, -1),
    `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`,
    key.replace(/.$/, 'é'),
  ]
  expect(wrong.map((text) => isMalformed('skp', text))).toEqual([false, true, true, true, true])
  expect(['skp_live_x', 'skp_', 'sk_live_4eC39Hq', ''].some((text) => isMalformed('skp', text))).toBe(false)
})
