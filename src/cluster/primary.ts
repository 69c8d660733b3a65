// The primary of a cluster (WORKERS): it opens the database, starts the workers, replaces those that end, and adds up their
// metrics. It answers no request itself and stays so small that an upgrade need not replace it: migrations are run by the
// workers. SIGHUP replaces the workers one by one, so that a new build or an interrupted one takes no request with it.
//
// A spare process has loaded the code and waits: loading is most of the time that a start takes, and whoever takes the place
// of a worker that was killed should serve within a second.

import cluster, { type Worker } from 'node:cluster'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { SECOND } from '../core/clock.ts'
import type { Connection } from '../db/db.ts'
import type { Say } from '../db/embedded/embedded.ts'
import { warnOfOldServer } from '../db/minor-version.ts'
import { METRICS_TYPE } from '../http/metrics.ts'
import { newMetricsServer } from '../http/pages/metrics.ts'
import { openStorage } from '../storage.ts'
import type { ToPrimary, ToWorker } from './messages.ts'
import { type ClusterMetrics, newClusterMetrics } from './metrics.ts'
import { endOf } from './worker-end.ts'

/** How long a worker has to say what it has counted. */
const MEASURE_MS = SECOND
/** Between two tries to start a worker in place of one that has ended, when starting fails. */
const RETRY_MS = SECOND
/** After the end of a spare: nobody waits for the next one. */
const SPARE_RETRY_MS = 10 * SECOND

type Member = {
  worker: Worker
  /** Set when it serves. */
  url: string | null
  /** It has loaded its code: messages before that would be lost. */
  isLoaded: boolean
  /** It has to serve, rather than wait as the spare. */
  isCalled: boolean
  isEnding: boolean
  fault: string | null
  ready: Promise<void>
  ended: Promise<void>
}

type ClusterState = {
  connection: Connection
  members: Set<Member>
  spare: Member | null
  /** Does what runs without a request. */
  lead: Member | null
  metrics: ClusterMetrics
  /** The metrics being read, and how often they were. */
  reading: Promise<string> | null
  readings: number
  /** How long a worker has to end by itself. */
  stopMs: number
  log: Logger
  isClosing: boolean
  /** Workers are replaced, or started beside the first one. */
  isReplacing: boolean
  /** SIGHUP came meanwhile: they may have loaded what has changed again since. */
  isAskedAgain: boolean
}

/** `script` is what a worker runs, `stopMs` how long it has to end by itself. */
export async function startCluster(config: Config, log: Logger, say: Say, script: string, stopMs: number) {
  const { connection, close: closeStorage } = await openStorage(config, say)
  // The workers accept connections themselves. A primary that hands them out loses those that it gives to a worker which has
  // just been killed: their clients would wait for ever.
  cluster.schedulingPolicy = cluster.SCHED_NONE
  cluster.setupPrimary({ exec: script, serialization: 'advanced' })
  const state: ClusterState = {
    connection,
    members: new Set(),
    spare: null,
    lead: null,
    metrics: newClusterMetrics(),
    reading: null,
    readings: 0,
    stopMs,
    log,
    isClosing: false,
    isReplacing: false,
    isAskedAgain: false,
  }
  const read = async () => ({ type: METRICS_TYPE, text: await readMetrics(state) })
  const metricsServer = newMetricsServer(
    { read },
    { port: config.METRICS_PORT, token: config.METRICS_TOKEN },
    config.HOST,
  )
  const onHangUp = () => void replaceAll(state)
  const close = async () => {
    state.isClosing = true
    process.off('SIGHUP', onHangUp)
    await Promise.all([dismissSpare(state), ...[...state.members].map((member) => stop(state, member, false))])
    await metricsServer.close()
    await closeStorage()
  }
  try {
    await metricsServer.listen()
    // The first one may have to migrate the database.
    const { url } = await start(state)
    await warnOfOldServer(connection, say)
    // Nobody waits for the others: the machine serves, and can be told to stop.
    process.on('SIGHUP', onHangUp)
    state.isReplacing = true
    void Promise.all(Array.from({ length: config.WORKERS - 1 }, () => startOrRetry(state))).then(() => {
      state.isReplacing = false
      if (state.isAskedAgain) void replaceAll(state)
      else keepSpare(state)
    })
    return { url: url as string, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Resolves when the worker serves. */
async function start(state: ClusterState): Promise<Member> {
  const member = state.spare ?? fork(state)
  state.spare = null
  state.members.add(member)
  member.isCalled = true
  begin(state, member)
  await Promise.race([member.ready, member.ended])
  if (member.url === null) throw new Error(member.fault ?? 'a worker ended before it was ready')
  return member
}

/** Beside workers that serve: whoever cannot start is tried again, and nobody waits for it. */
async function startOrRetry(state: ClusterState): Promise<void> {
  try {
    await start(state)
  } catch (error) {
    logRetry(state, error)
    void startInPlace(state)
  }
}

/** In place of a worker that is missing: tried until it serves. */
async function startInPlace(state: ClusterState): Promise<void> {
  const began = performance.now()
  while (!state.isClosing) {
    try {
      const { worker } = await start(state)
      state.log.info({ worker: worker.id, ms: Math.round(performance.now() - began) }, 'a worker was replaced')
      return keepSpare(state)
    } catch (error) {
      logRetry(state, error)
      await sleep(RETRY_MS)
    }
  }
}

function logRetry({ log, isClosing }: ClusterState, error: unknown): void {
  if (!isClosing) log.error({ reason: (error as Error).message }, 'a worker could not start, and is tried again')
}

function fork(state: ClusterState): Member {
  const worker = cluster.fork()
  const flags = { isLoaded: false, isCalled: false, isEnding: false }
  const ready = new Promise<void>((resolve) => {
    worker.on('message', (message: ToPrimary) => {
      // It was killed while it started, and had just said so. Whoever started it has to try again.
      if (message.kind === 'ready' && member.isEnding) return
      hear(state, member, message)
      if (message.kind === 'ready') resolve()
    })
  })
  const ended = endOf(worker).then((reason) => onExit(state, member, reason))
  const member: Member = { worker, url: null, ...flags, fault: null, ready, ended }
  return member
}

function begin(state: ClusterState, member: Member): void {
  if (member.isLoaded && member.isCalled) send(member, { kind: 'start', connection: state.connection })
}

function keepSpare(state: ClusterState): void {
  if (!state.isClosing && !state.isReplacing) state.spare ??= fork(state)
}

async function dismissSpare(state: ClusterState): Promise<void> {
  const { spare } = state
  state.spare = null
  if (spare) await stop(state, spare, false)
}

function hear(state: ClusterState, member: Member, message: ToPrimary): void {
  const { id } = member.worker
  if (message.kind === 'listening') {
    member.isLoaded = true
    begin(state, member)
  } else if (message.kind === 'ready') {
    member.url = message.url
    appointLead(state)
  } else if (message.kind === 'failed') member.fault = message.message
  else if (message.kind === 'wake') send(state.lead, { kind: 'wake' })
  else if (message.kind === 'told to stop') void replaceOne(state, member)
  else if (message.kind === 'ending') void takeOver(state, member)
  else if (message.kind === 'measured') {
    // After its end it would be counted twice.
    if (state.members.has(member)) state.metrics.report(id, message.metrics)
  } else if (message.kind === 'metrics')
    void readMetrics(state).then((text) => send(member, { kind: 'metrics', request: message.request, text }))
}

async function onExit(state: ClusterState, member: Member, reason: number | string): Promise<void> {
  const wasSpare = state.spare === member
  state.members.delete(member)
  if (wasSpare) state.spare = null
  if (state.lead === member) state.lead = null
  appointLead(state)
  state.metrics.end(member.worker.id)
  if (member.isEnding || state.isClosing) return
  if (wasSpare) {
    state.log.warn({ worker: member.worker.id, reason }, 'the spare worker ended')
    await sleep(SPARE_RETRY_MS)
    return keepSpare(state)
  }
  // Whoever started it tries again.
  if (member.url === null) return
  state.log.error({ worker: member.worker.id, reason }, 'a worker ended')
  await startInPlace(state)
}

/** A worker has failed, and finishes what it has begun. */
async function takeOver(state: ClusterState, member: Member): Promise<void> {
  if (member.isEnding || state.isClosing) return
  member.isEnding = true
  if (state.lead === member) state.lead = null
  appointLead(state)
  await startInPlace(state)
}

function appointLead(state: ClusterState): void {
  if (state.lead) return
  state.lead = [...state.members].find(({ url, isEnding }) => url !== null && !isEnding) ?? null
  send(state.lead, { kind: 'lead' })
}

/** Each worker goes when the one in its place serves. If that cannot start, the others stay as they are. */
async function replaceAll(state: ClusterState): Promise<void> {
  if (state.isReplacing) state.isAskedAgain = true
  if (state.isReplacing || state.isClosing) return
  state.isReplacing = true
  try {
    do {
      state.isAskedAgain = false
      // Also those that are starting, and the spare: they have loaded the build that is to be replaced.
      const dismissed = dismissSpare(state)
      const old = [...state.members].filter(({ isEnding }) => !isEnding)
      await dismissed
      state.log.info({ workers: old.length }, 'replacing workers')
      for (const member of old) await replace(state, member)
      state.log.info({ workers: old.length }, 'workers replaced')
    } while (state.isAskedAgain)
  } catch (error) {
    state.log.error({ reason: (error as Error).message }, 'a new worker could not start: the old ones stay')
  } finally {
    state.isReplacing = false
    keepSpare(state)
  }
}

async function replace(state: ClusterState, member: Member): Promise<void> {
  // In place of one that has ended another was started.
  if (state.isClosing || member.isEnding || !state.members.has(member)) return
  // Whoever started it tries again.
  if (member.url === null) return stop(state, member, true)
  // Should it end by itself from now on, nobody else takes its place.
  member.isEnding = true
  try {
    await start(state)
  } catch (error) {
    member.isEnding = false
    if (!state.members.has(member)) void startInPlace(state)
    throw error
  }
  await stop(state, member, true)
}

/** Somebody has told this worker to stop, and not the whole machine: that would have told its primary too. */
async function replaceOne(state: ClusterState, member: Member): Promise<void> {
  try {
    await replace(state, member)
  } catch (error) {
    state.log.error({ reason: (error as Error).message }, 'a new worker could not start: the old one stays')
  } finally {
    // The one that could not start was it.
    keepSpare(state)
  }
}

async function stop(state: ClusterState, member: Member, isReplaced: boolean): Promise<void> {
  const { worker } = member
  member.isEnding = true
  if (worker.isDead()) return
  const ended = endOf(worker)
  if (state.lead === member) {
    state.lead = null
    if (isReplaced) appointLead(state)
  }
  // One that does not serve yet does not listen to its primary.
  if (member.url === null) worker.kill('SIGKILL')
  else send(member, { kind: 'stop', isReplaced })
  const late = setTimeout(() => worker.kill('SIGKILL'), state.stopMs)
  await ended
  clearTimeout(late)
}

/** Whoever asks meanwhile gets the same. */
function readMetrics(state: ClusterState): Promise<string> {
  state.reading ??= measureAll(state).finally(() => {
    state.reading = null
  })
  return state.reading
}

async function measureAll(state: ClusterState): Promise<string> {
  state.readings += 1
  const serving = [...state.members].filter(({ url }) => url !== null)
  await Promise.all(serving.map((member) => measured(member, state.readings)))
  return state.metrics.text()
}

/** Resolves when the worker has answered, or when that takes too long. */
function measured(member: Member, request: number): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(late)
      member.worker.off('message', listener)
      resolve()
    }
    const listener = (message: ToPrimary) => {
      if (message.kind === 'measured' && message.request === request) done()
    }
    const late = setTimeout(done, MEASURE_MS)
    member.worker.on('message', listener)
    send(member, { kind: 'measure', request })
  })
}

function send(member: Member | null, message: ToWorker): void {
  if (member?.worker.isConnected()) member.worker.send(message)
}
