// Schedules of faults and changes for the machine of the in-process verifier, and what becomes of the claim under them: no
// answer from memory later than 1.5 s after the commit that ended it, by the clocks of the back end.

import fc from 'fast-check'
import { type Breach, type MachineFunctions, newClient } from './client.ts'
import { KEYS, type NodeMutation, newDatabase, newNode, STORES } from './node.ts'
import { newWorld } from './world.ts'

const NODES = 3

const KINDS = [
  'freeze client',
  'suspend client',
  'set wall',
  'freeze node',
  'freeze all nodes',
  'freeze database',
  'kill node',
  'kill all nodes',
  'cut stream',
  'half-open stream',
  'slow opening',
  'hold stream',
  'lose listener',
  'lose all listeners',
  'hold notifications',
] as const
type FaultKind = (typeof KINDS)[number]

/** `change`: ms after the fault at which something changes too; below 0, nothing does. */
type Fault = { kind: FaultKind; at: number; ms: number; node: number; change: number }
export type Schedule = {
  seed: number
  lengthMs: number
  rates: number[]
  ringMs: number
  typicalMs: number
  lookupMs: number
  /** Whether the client never gives up a silent stream. */
  isPatient: boolean
  /** How long it waits at most until it asks again, once it has had time to know every key. */
  askMs: number
  faults: Fault[]
  changes: { at: number; id: string }[]
}

const ids = [
  ...Array.from({ length: KEYS }, (_, n) => `key_${n}`),
  ...Array.from({ length: STORES }, (_, n) => `store_${n}`),
]

/** A part of the schedule's length, so that a shorter schedule keeps its faults. */
const moment = fc.integer({ min: 0, max: 1_000 })
const length = fc.constantFrom(100, 400, 900, 1_400, 1_800, 2_500, 4_000)
const change = fc.constantFrom(-1, 1, 30, 200, 600, 1_200)
const node = fc.nat(NODES - 1)
const fault: fc.Arbitrary<Fault> = fc.record({ kind: fc.constantFrom(...KINDS), at: moment, ms: length, node, change })

type Story = Pick<Schedule, 'faults'> & Partial<Schedule>

/** Faults that are dangerous together, and would seldom meet by chance. */
const resumedLate = fc
  .record({ ms: fc.constantFrom(1_000, 1_900, 2_500, 4_000), change: fc.constantFrom(1, 30, 200) })
  .map(
    ({ ms, change }): Story => ({
      lengthMs: 12_000,
      isPatient: true,
      askMs: 60_000,
      faults: [
        { kind: 'slow opening', at: 240, ms, node: 0, change: -1 },
        { kind: 'cut stream', at: 250, ms: 1, node: 0, change },
        // A stream that was opened slowly is never fresh; but what it has wrongly taken for told, the next one relies on.
        { kind: 'cut stream', at: 850, ms: 1, node: 0, change: -1 },
      ],
    }),
  )
const lateHello = fc.record({ ms: length, change }).map(
  ({ ms, change }): Story => ({
    faults: [
      { kind: 'hold stream', at: 0, ms, node: 0, change: -1 },
      { kind: 'half-open stream', at: 700, ms, node: 0, change },
    ],
  }),
)
const resumedAfterGap = fc.record({ ms: length, change }).map(
  ({ ms, change }): Story => ({
    faults: [
      { kind: 'lose all listeners', at: 498, ms: 100, node: 0, change: -1 },
      { kind: 'cut stream', at: 500, ms, node: 0, change },
    ],
  }),
)
const story = fc.oneof(resumedLate, resumedAfterGap, lateHello)

const drawn: fc.Arbitrary<Schedule> = fc.record({
  seed: fc.integer(),
  lengthMs: fc.constantFrom(3_000, 5_000, 5_000, 8_000, 8_000, 12_000),
  rates: fc.array(fc.constantFrom(0.99, 1, 1, 1 / 0.99), { minLength: NODES, maxLength: NODES }),
  ringMs: fc.constantFrom(60_000, 60_000, 2_500),
  typicalMs: fc.constantFrom(1, 5, 40, 150),
  lookupMs: fc.constantFrom(5, 5, 300),
  isPatient: fc.boolean(),
  askMs: fc.constantFrom(400, 400, 60_000),
  faults: fc.array(fault, { maxLength: 6 }),
  changes: fc.array(fc.record({ at: moment, id: fc.constantFrom(...ids) }), { maxLength: 8 }),
})
const withStory = fc
  .tuple(drawn, story)
  .map(([drawn, story]) => ({ ...drawn, ...story, faults: [...story.faults, ...drawn.faults.slice(0, 2)] }))

export const schedules: fc.Arbitrary<Schedule> = fc
  .oneof({ weight: 3, arbitrary: drawn }, { weight: 1, arbitrary: withStory })
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
  const { ringMs, typicalMs, lookupMs, isPatient, askMs } = schedule
  const nodes = schedule.rates.map((rate) => newNode(world, database, { rate, ringMs, lookupMs, mutation }))
  for (const node of nodes) node.start()
  const client = newClient(world, functions, database, nodes, { typicalMs, isPatient, askMs })
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
      'freeze all nodes': () => nodes.forEach(freeze),
      'freeze database': () => freeze(database),
      'kill node': () => kill(node),
      'kill all nodes': () => nodes.forEach(kill),
      'cut stream': () => client.cut(ms * random.next()),
      'half-open stream': () => client.cut(null),
      'slow opening': () => client.slowOpening(ms),
      'hold stream': () => {
        if (client.pipe) client.pipe.heldUntil = world.now + ms
      },
      'lose listener': () => node.loseListener(ms),
      'lose all listeners': () => nodes.forEach((each) => each.loseListener(ms)),
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
