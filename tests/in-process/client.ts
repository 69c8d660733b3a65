// A back end in virtual time: the real machine of the verifier, with streams and questions over the simulated network. It is
// asked about every key at every opportunity, and each answer from memory is held against what the database had committed.

import type { Verdict } from '../../packages/client/src/api.gen.ts'
import type { Machine, Stream } from '../../packages/client/src/verify/machine.ts'
import { type Database, KEYS, type SimulatedNode, storeOf, type Version } from './node.ts'
import { type Actor, delayOf, newPipe, type Pipe, type World } from './world.ts'

/** The functions of machine.ts and memory.ts, or of mutants of them. */
export type MachineFunctions = Pick<
  typeof import('../../packages/client/src/verify/machine.ts'),
  'newMachine' | 'openStream' | 'closeStream' | 'onFrame' | 'isSilent'
> &
  Pick<typeof import('../../packages/client/src/verify/memory.ts'), 'answer' | 'onAnswer'>

export type Breach = { at: number; lateMs: number }
export type SimulatedClient = Actor & {
  machine: Machine
  /** Of the sleeping machine: the one clock stands still, the other goes on. */
  suspend(ms: number): void
  setWall(byMs: number): void
  pipe: Pipe | null
  /** The next request for a stream takes so much longer. */
  slowOpening(ms: number): void
  /** Nothing comes any more. Null: nothing tells that it was cut. */
  cut(noticedAfter: number | null): void
  probe(key: number): void
  breaches: Breach[]
  answered: number
}

const BOUND_MS = 1_500
/** Until then every client asks often. */
const EAGER_MS = 800

export function newClient(
  world: World,
  functions: MachineFunctions,
  database: Database,
  nodes: SimulatedNode[],
  network: { typicalMs: number; isPatient: boolean; askMs: number },
): SimulatedClient {
  const { random } = world
  const { typicalMs, isPatient, askMs } = network
  const { openStream, closeStream, onFrame, isSilent, answer, onAnswer } = functions
  const machine = functions.newMachine(random.next)
  let [asleep, asleepUntil, wallOffset] = [0, 0, 0]
  const moment = () => ({ mono: world.now - asleep, wall: world.now + wallOffset })
  const askAfter = Array.from({ length: KEYS }, () => 0)
  let stream: Stream | null = null
  let failures = 0
  let openingMs = 0

  const reopen = (delay: number) => {
    if (stream) closeStream(machine, stream)
    stream = null
    if (client.pipe) client.pipe.isOpen = false
    client.pipe = null
    world.after(delay, client, open)
  }
  const open = () => {
    if (stream) return
    const opened = openStream(machine, moment())
    stream = opened
    const node = random.pick(nodes)
    const pipe = newPipe(world, client, typicalMs)
    client.pipe = pipe
    const lose = () => client.pipe === pipe && client.cut(random.next() < 0.7 ? delayOf(random, typicalMs) : null)
    pipe.onBreak = lose
    const travel = delayOf(random, typicalMs) + openingMs
    openingMs = 0
    world.after(travel, node, () => {
      if (!node.isUp) return lose()
      if (!pipe.isOpen) return
      node.open(pipe, opened.back, (event, id, data) => {
        if (stream !== opened) return
        const step = onFrame(machine, opened, { event, id: String(id), data: JSON.stringify(data) }, moment())
        if (event === 'beat') failures = 0
        if (step !== 'go') reopen(step === 'again' ? 0 : backoff())
        probeAll()
      })
    })
  }
  const backoff = () => random.next() * Math.min(5_000, 300 * 2 ** failures++)

  const probe = (key: number) => {
    const { mono, wall } = moment()
    const verdict = answer(machine, `h${key}`, { key: 'k', storeId: `store_${storeOf(key)}` }, mono, wall)
    if (verdict === null) return ask(key)
    client.answered += 1
    const { endedAt } = (database.versions[key] as Version[])[Number(verdict.metadata?.version)] as Version
    const lateMs = world.now - endedAt - BOUND_MS
    if (lateMs > 1e-6) client.breaches.push({ at: world.now, lateMs })
  }
  const probeAll = () => {
    for (let key = 0; key < KEYS; key++) probe(key)
  }
  const ask = (key: number) => {
    if (world.now < (askAfter[key] as number)) return
    askAfter[key] = world.now + (world.now < EAGER_MS ? 400 : askMs) * random.next()
    const sent = moment()
    const node = random.pick(nodes)
    const pipe = newPipe(world, client, typicalMs)
    world.after(delayOf(random, typicalMs), node, () => {
      if (!node.isUp) return
      node.lease(key, ({ version, lease }) =>
        pipe.send(() => {
          askAfter[key] = world.now + (world.now < EAGER_MS ? 400 : askMs) * random.next()
          onAnswer(
            machine,
            `h${key}`,
            { key: 'k', storeId: `store_${storeOf(key)}` },
            verdictOf(key, version),
            lease && { ...lease, validForMs: null, secret: 1, byAddress: false, node: 'n', catalogue: 'c' },
            sent,
            moment(),
          )
          probe(key)
        }),
      )
    })
  }
  const tick = () => {
    probeAll()
    if (!isPatient && isSilent(machine, moment())) reopen(backoff())
    world.after(20 + 150 * random.next(), client, tick)
  }
  const client: SimulatedClient = {
    frozenUntil: 0,
    machine,
    pipe: null,
    breaches: [],
    answered: 0,
    probe: (key) => probe(key),
    suspend(ms) {
      const until = world.now + ms
      asleep += Math.max(0, until - Math.max(world.now, asleepUntil))
      asleepUntil = Math.max(asleepUntil, until)
      client.frozenUntil = Math.max(client.frozenUntil, until)
    },
    setWall(byMs) {
      wallOffset += byMs
    },
    slowOpening(ms) {
      openingMs = ms
    },
    cut(noticedAfter) {
      const { pipe } = client
      if (!pipe) return
      pipe.isHalfOpen = true
      if (noticedAfter === null) return
      world.after(noticedAfter, client, () => {
        if (client.pipe === pipe) reopen(backoff())
      })
    },
  }
  world.after(0, client, open)
  world.after(1, client, tick)
  return client
}

/** As the service answers: of all its members the machine looks at a few. */
function verdictOf(key: number, { number, valid }: Version): Verdict {
  const verdict = {
    valid,
    code: valid ? 'VALID' : 'REVOKED',
    keyId: `key_${key}`,
    storeId: `store_${storeOf(key)}`,
    type: 'PROD',
    permissions: ['READ'],
    metadata: { version: number },
  }
  return verdict as unknown as Verdict
}
