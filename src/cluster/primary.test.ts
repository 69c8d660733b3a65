// What the primary does with its workers: spares, signals, kills and replacements. The workers have no service, so that
// starting one takes no time; tests/workers.test.ts has real ones, under load.

import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { join } from 'node:path'
import pino from 'pino'
import { expect, onTestFinished, test, vi } from 'vitest'
import { readConfig } from '../config.ts'
import type { ToPrimary } from './messages.ts'
import { startCluster } from './primary.ts'

const STAND_IN = join(import.meta.dirname, '../../tests/stand-in-worker.js')
/** Nobody is there: the primary asks the database only whether it is old, and goes on without an answer. */
const SETTINGS = {
  DATABASE_URL: 'postgres://nobody:nothing@127.0.0.1:1/none',
  SERVER_SECRET: Buffer.alloc(32, 7).toString('base64'),
  WORKERS: '2',
}

/** A machine that is starting, and what has become of its workers. */
function startMachine() {
  const forked: Worker[] = []
  const serving = new Set<Worker>()
  const ends: { worker: Worker; code: number | null; signal: string | null; serving: number }[] = []
  const lines: string[] = []
  const onFork = (worker: Worker) => {
    forked.push(worker)
    worker.process.once('exit', (code, signal) => {
      serving.delete(worker)
      ends.push({ worker, code, signal, serving: serving.size })
    })
  }
  const onMessage = (worker: Worker, { kind }: ToPrimary) => {
    if (kind === 'ready') serving.add(worker)
  }
  cluster.on('fork', onFork)
  cluster.on('message', onMessage)
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line).msg) })
  const starting = startCluster(readConfig(SETTINGS), log, () => {}, STAND_IN, 60_000)
  const left = () => forked.filter((worker) => !worker.isDead())
  onTestFinished(async () => {
    await (await starting.catch(() => null))?.close()
    expect(left()).toEqual([])
    cluster.off('fork', onFork)
    cluster.off('message', onMessage)
  })
  return {
    starting,
    forked,
    serving,
    lines,
    left,
    spare: () => left().find((worker) => !serving.has(worker)),
    logged: (msg: string) => lines.filter((line) => line === msg).length,
    /** Two that serve, and a spare. */
    whole: () => expect.poll(() => [serving.size, left().length]).toEqual([2, 3]),
    endOf: async (worker: Worker) => {
      await expect.poll(() => ends.some((end) => end.worker === worker)).toBe(true)
      return ends.find((end) => end.worker === worker)
    },
  }
}

/** As it comes to the process. */
const hangUp = () => void process.emit('SIGHUP')

test('the spare takes the place of a worker that was killed, and there is another spare', async () => {
  const machine = startMachine()
  await machine.starting
  await machine.whole()
  const [lead, other] = [...machine.serving] as [Worker, Worker]
  const spare = machine.spare() as Worker
  const toOther = vi.spyOn(other, 'send')
  lead.process.kill('SIGKILL')
  await machine.endOf(lead)
  await machine.whole()
  expect([...machine.serving]).toEqual([other, spare])
  expect(machine.logged('a worker ended')).toBe(1)
  expect(machine.logged('a worker was replaced')).toBe(1)
  expect(toOther).toHaveBeenCalledWith({ kind: 'lead' })
  expect(machine.forked).toHaveLength(4)
})

test('SIGHUP replaces the workers one by one and the spare, and one that is killed before its turn once', async () => {
  const machine = startMachine()
  await machine.starting
  await machine.whole()
  const old = machine.left()
  const last = [...machine.serving].at(-1) as Worker
  hangUp()
  await expect.poll(() => machine.logged('replacing workers'), { interval: 1 }).toBe(1)
  last.process.kill('SIGKILL')
  await expect.poll(() => machine.logged('workers replaced')).toBe(1)
  await machine.whole()
  expect(machine.left().filter((worker) => old.includes(worker))).toEqual([])
  expect(machine.forked).toHaveLength(6)
})

test('SIGHUP lets a worker go only when another serves in its place', async () => {
  const machine = startMachine()
  await machine.starting
  await machine.whole()
  const old = [...machine.serving]
  hangUp()
  hangUp()
  await expect.poll(() => machine.logged('workers replaced')).toBe(2)
  await machine.whole()
  for (const worker of old) expect(await machine.endOf(worker)).toMatchObject({ code: 0, signal: null, serving: 2 })
})

test('a worker that is killed while it starts is started again; SIGHUP counts once all have been started', async () => {
  const machine = startMachine()
  // The second is forked when the first serves.
  await once(cluster, 'fork')
  const [second] = (await once(cluster, 'fork')) as [Worker]
  second.process.kill('SIGKILL')
  const { url } = await machine.starting
  const first = machine.forked[0] as Worker
  expect(url).toBe(`stand-in:${first.process.pid}`)
  hangUp()
  await expect.poll(() => machine.logged('workers replaced')).toBe(1)
  expect(machine.lines.slice(0, 2)).toEqual(['a worker could not start, and is tried again', 'replacing workers'])
  await machine.whole()
  expect(machine.serving.has(first)).toBe(false)
})

test('a worker that is killed while it starts counts as one that could not, though it had just said that it serves', async () => {
  const machine = startMachine()
  await once(cluster, 'fork')
  const [second] = (await once(cluster, 'fork')) as [Worker]
  second.process.kill('SIGKILL')
  await machine.starting
  const [third] = (await once(cluster, 'fork')) as [Worker]
  third.process.kill('SIGSTOP')
  const kill = third.kill.bind(third)
  vi.spyOn(third, 'kill').mockImplementation((signal) => {
    kill(signal)
    // What it had written to its primary before is read now.
    third.emit('message', { kind: 'ready', url: 'stand-in:late' })
  })
  hangUp()
  expect(await machine.endOf(third)).toMatchObject({ signal: 'SIGKILL' })
  await machine.whole()
})

test('a worker that is told to stop by itself goes when another serves', async () => {
  const machine = startMachine()
  await machine.starting
  await machine.whole()
  const told = [...machine.serving][0] as Worker
  told.process.kill('SIGTERM')
  expect(await machine.endOf(told)).toMatchObject({ code: 0, signal: null, serving: 2 })
  await machine.whole()
})

test('a machine of which one worker serves is stopped in order, though another does not come to its start', async () => {
  const machine = startMachine()
  await once(cluster, 'fork')
  const [second] = (await once(cluster, 'fork')) as [Worker]
  second.process.kill('SIGSTOP')
  const { close } = await machine.starting
  await close()
  expect(machine.left()).toEqual([])
  expect(await machine.endOf(machine.forked[0] as Worker)).toMatchObject({ code: 0, signal: null })
  expect(await machine.endOf(second)).toMatchObject({ signal: 'SIGKILL' })
})

test('a machine whose first worker cannot start says why, and leaves no process', async () => {
  vi.stubEnv('STAND_IN_FAULT', 'The database is not ours.')
  onTestFinished(() => void vi.unstubAllEnvs())
  const machine = startMachine()
  await expect(machine.starting).rejects.toThrow('The database is not ours.')
  expect(machine.left()).toEqual([])
})
