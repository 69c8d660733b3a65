// Schedules of faults and changes for the machine of the in-process verifier, and what becomes of the claim under them: no
// answer from memory later than 1.5 s after the commit that ended it, by the clocks of the back end.

import fc from 'fast-check'
import { type Breach, type MachineFunctions, newClient } from './client.ts'
import { KEYS, type NodeMutation, newDatabase, newNode, STORES } from './node.ts'
import { newWorld } from './world.ts'

const NODES = 3

type FaultKind =
  | 'freeze client'
  | 'suspend client'
  | 'set wall'
  | 'freeze node'
  | 'freeze database'
  | 'kill node'
  | 'kill all nodes'
  | 'cut stream'
  | 'half-open stream'
  | 'hold stream'
  | 'lose listener'
  | 'hold notifications'

/** `change`: ms after the fault at which something changes too; below 0, nothing does. */
type Fault = { kind: FaultKind; at: number; ms: number; node: number; change: number }
export type Schedule = {
  seed: number
  lengthMs: number
  rates: number[]
  ringMs: number
  typicalMs: number
  faults: Fault[]
  changes: { at: number; id: string }[]
}

const KINDS: FaultKind[] = [
  'freeze client',
  'suspend client',
  'set wall',
  'freeze node',
  'freeze database',
  'kill node',
  'kill all nodes',
  'cut stream',
  'half-open stream',
  'hold stream',
  'lose listener',
  'hold notifications',
]
const ids = [
  ...Array.from({ length: KEYS }, (_, n) => `key_${n}`),
  ...Array.from({ length: STORES }, (_, n) => `store_${n}`),
]

/** A part of the schedule's length, so that a shorter schedule keeps its faults. */
const moment = fc.integer({ min: 0, max: 1_000 })

export const schedules: fc.Arbitrary<Schedule> = fc
  .record({
    seed: fc.integer(),
    lengthMs: fc.constantFrom(3_000, 5_000, 5_000, 8_000, 8_000, 16_000),
    rates: fc.array(fc.constantFrom(0.99, 1, 1, 1 / 0.99), { minLength: NODES, maxLength: NODES }),
    ringMs: fc.constantFrom(60_000, 60_000, 2_500),
    typicalMs: fc.constantFrom(1, 5, 40, 150),
    faults: fc.array(
      fc.record({
        kind: fc.constantFrom(...KINDS),
        at: moment,
        ms: fc.constantFrom(100, 400, 900, 1_400, 1_800, 2_500, 4_000),
        node: fc.nat(NODES - 1),
        change: fc.constantFrom(-1, 1, 30, 200, 600, 1_200),
      }),
      { maxLength: 6 },
    ),
    changes: fc.array(fc.record({ at: moment, id: fc.constantFrom(...ids) }), { maxLength: 8 }),
  })
  .map((drawn) => ({
    ...drawn,
    faults: drawn.faults.map((fault) => ({ ...fault, at: (fault.at * drawn.lengthMs) / 1_000 })),
    changes: drawn.changes.map((change) => ({ ...change, at: (change.at * drawn.lengthMs) / 1_000 })),
  }))

export type Outcome = { breaches: Breach[]; answered: number; resumed: number; streams: number }

export function run(schedule: Schedule, functions: MachineFunctions, mutation: NodeMutation | null = null): Outcome {
  const world = newWorld(schedule.seed)
  const { random } = world
  const director = { frozenUntil: 0 }
  const database = newDatabase(
    world,
    () => random.next() < 0.6,
    // The moment at which the last answer with the old version may be given has just passed.
    (key) => {
      world.after(1_500.001, director, () => world.after(0, client, () => client.probe(key)))
    },
  )
  const { ringMs, typicalMs } = schedule
  const nodes = schedule.rates.map((rate) => newNode(world, database, { rate, ringMs, mutation }))
  for (const node of nodes) node.start()
  const client = newClient(world, functions, database, nodes, { typical: typicalMs })
  const sleeps = schedule.faults.some(({ kind }) => kind === 'suspend client')
  const doFault = ({ kind, ms, node: n }: Fault) => {
    const node = nodes[n] as (typeof nodes)[number]
    const freeze = (actor: { frozenUntil: number }) => {
      actor.frozenUntil = Math.max(actor.frozenUntil, world.now + ms)
    }
    const kill = (each: typeof node) => {
      each.stop()
      world.after(ms, director, () => each.isUp || each.start())
    }
    const faults: Record<FaultKind, () => void> = {
      'freeze client': () => freeze(client),
      'suspend client': () => client.suspend(ms),
      // That the clock of a machine that slept is set back as well is assumed away: no clock would show the pause.
      'set wall': () => client.setWall(sleeps || random.next() < 0.3 ? ms : -ms),
      'freeze node': () => freeze(node),
      'freeze database': () => freeze(database),
      'kill node': () => kill(node),
      'kill all nodes': () => nodes.forEach(kill),
      'cut stream': () => client.cut(true),
      'half-open stream': () => client.cut(false),
      'hold stream': () => {
        if (client.pipe) client.pipe.heldUntil = world.now + ms
      },
      'lose listener': () => node.loseListener(ms),
      'hold notifications': () => {
        if (node.listener) node.listener.pipe.heldUntil = world.now + ms
      },
    }
    faults[kind]()
  }
  for (const fault of schedule.faults) {
    world.after(fault.at, director, () => doFault(fault))
    if (fault.change >= 0) world.after(fault.at + fault.change, director, () => database.commit(random.pick(ids)))
  }
  for (const { at, id } of schedule.changes) world.after(at, director, () => database.commit(id))
  world.runUntil(schedule.lengthMs)
  const { resumed, streams } = client.machine.counters
  return { breaches: client.breaches, answered: client.answered, resumed, streams }
}
