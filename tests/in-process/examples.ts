// Small differences that a random schedule meets once in a million: shown one by one.

import type { Verdict } from '../../packages/client/src/api.gen.ts'
import type { MachineFunctions } from './client.ts'

const at = (ms: number) => ({ mono: ms, wall: ms })
const question = { key: 'k', storeId: 'store_1' }
export const VALID = {
  valid: true,
  code: 'VALID',
  keyId: 'key_1',
  storeId: 'store_1',
  name: 'Checkout',
  type: 'PROD',
  permissions: ['READ', 'WRITE'],
  metadata: {},
  expiresAt: null,
  owner: null,
} satisfies Verdict
export const LEASE = { ageMs: 0, validForMs: null, secret: 1, byAddress: false, node: 'n', catalogue: 'c' }

/** What went wrong, or null. */
export function breakExample({ newMachine, openStream, onFrame, answer, onAnswer }: MachineFunctions): string | null {
  const aged = newMachine(() => 0.5)
  onAnswer(aged, 'h', question, VALID, { ...LEASE, ageMs: 1_000 }, at(10_000), at(10_010))
  if (answer(aged, 'h', question, 10_489, 10_489) === null)
    return 'knowledge of 1 s ago is good for almost half a second'
  if (answer(aged, 'h', question, 10_490, 10_490) !== null) return 'the clock of the service may run 1 % slow'

  const flooded = newMachine(() => 0.5)
  const stream = openStream(flooded, at(20_000))
  const frame = (event: string, id: number, data: object, ms: number) =>
    onFrame(flooded, stream, { event, id: String(id), data: JSON.stringify(data) }, at(ms))
  frame('hello', 1, { at: 0, from: 0, catalogue: 'c' }, 20_001)
  frame('changed', 2, { ids: ['key_1'] }, 20_100)
  frame('changed', 3, { ids: Array.from({ length: 20_000 }, (_, n) => `key_other${n}`) }, 20_101)
  onAnswer(flooded, 'h', question, VALID, LEASE, at(20_050), at(20_110))
  if (answer(flooded, 'h', question, 20_111, 20_111) !== null)
    return 'a change was forgotten while an answer was under way'

  const drifting = newMachine(() => 0.5)
  const long = openStream(drifting, at(30_000))
  onFrame(drifting, long, { event: 'hello', id: '1', data: '{"at":0,"from":0,"catalogue":"c"}' }, at(30_001))
  onAnswer(drifting, 'h', question, VALID, LEASE, at(30_010), at(30_011))
  onFrame(drifting, long, { event: 'beat', id: '2', data: '{"heardUpTo":20000}' }, at(50_001))
  if (answer(drifting, 'h', question, 51_299, 51_299) === null)
    return 'a beat is good for 1.5 s after it was certainly heard'
  if (answer(drifting, 'h', question, 51_301, 51_301) !== null) return 'the clock of the service may run 1 % fast'
  return null
}
