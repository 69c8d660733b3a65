// The parts of bench/stress/overload.ts that a test uses too: a crowd on a running service, with verifications beside it,
// and what came of it.

import { fork } from 'node:child_process'
import { join } from 'node:path'
import { memoryMb } from '../world.ts'
import type { CrowdOptions, CrowdReport } from './crowd.ts'

/** Requests, each with its credential: `creates` in turn, and one question to verify. */
export type Target = { url: string; pid: number; creates: string[]; verify: string }

export type Overload = {
  askedPerSecond: number
  sentPerSecond: number
  goodput: number
  accepted: Quantiles
  verify: Quantiles & { failed: number }
  refusedPerSecond: number
  refused: Quantiles
  withoutRetryAfter: number
  resets: number
  unanswered: number
  otherStatuses: Record<string, number>
  late: Quantiles
  rssMb: number
  /** From the end of the crowd until the service is as fast as before; null when that takes longer than it was watched. */
  recoveredMs: number | null
}

type Quantiles = { p50: number; p99: number; max: number }

const VERIFY_PER_SECOND = 100
/** About as long as the crowd takes to open its connections. */
const OPENING_SECONDS = 1
const RECOVERY_SECONDS = 3
/** Of the sustained rate: as fast as before. */
const RECOVERED = 0.8

export function postRequest(url: string, path: string, token: string, body: string, close = false): string {
  const head = [
    `POST ${path} HTTP/1.1`,
    `host: ${new URL(url).host}`,
    `authorization: Bearer ${token}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    ...(close ? ['connection: close'] : []),
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}

/** Creates a second that are answered when each connection sends its next request after the answer to the one before. */
export async function sustainedRate({ url, creates }: Target, seconds: number, fresh: boolean): Promise<number> {
  const crowd = await newCrowd()
  const { report } = crowd.run({ url, requests: creates, seconds, rate: null, connections: 32, fresh })
  return (await report).accepted.inTime / seconds
}

export async function overload(
  { url, pid, creates, verify }: Target,
  asked: { perSecond: number; seconds: number; connections: number; fresh: boolean; sustained: number },
): Promise<Overload> {
  const { seconds, perSecond: rate, connections, fresh } = asked
  const [crowd, verifier, next] = await Promise.all([newCrowd(), newCrowd(), newCrowd()])
  const questions = { url, requests: [verify], rate: VERIFY_PER_SECOND, connections: 50, fresh: false }
  const verifying = verifier.run({ ...questions, seconds: seconds + OPENING_SECONDS })
  await verifying.begun
  const creating = crowd.run({ url, requests: creates, seconds, rate, connections, fresh })
  await creating.begun
  const memory: number[] = []
  const watch = setInterval(() => memory.push(memoryMb(pid)), 100)
  await creating.ended
  const ended = performance.now()
  const closedLoop = { url, requests: creates, rate: null, connections: 32, fresh: false }
  const recovering = next.run({ ...closedLoop, seconds: RECOVERY_SECONDS })
  await recovering.begun
  const recoveringAfterMs = performance.now() - ended
  const [report, verified, { slices }] = await Promise.all([creating.report, verifying.report, recovering.report])
  clearInterval(watch)
  const slice = slices.findIndex((count) => count >= (RECOVERED * asked.sustained) / 10)
  return {
    askedPerSecond: rate,
    sentPerSecond: report.sent / seconds,
    goodput: report.accepted.inTime / seconds,
    accepted: quantiles(report.accepted.latencies),
    verify: {
      ...quantiles(verified.accepted.latencies),
      failed: verified.sent + verified.unsent + verified.missed - verified.accepted.latencies.length,
    },
    refusedPerSecond: report.refused.latencies.length / seconds,
    refused: quantiles(report.refused.latencies),
    withoutRetryAfter: report.refused.withoutRetryAfter,
    resets: report.resets,
    unanswered: report.unanswered,
    otherStatuses: report.otherStatuses,
    late: quantiles(report.lateMs),
    rssMb: Math.max(...memory),
    recoveredMs: slice === -1 ? null : Math.round(recoveringAfterMs + (slice + 1) * 100),
  }
}

type Crowd = {
  run(options: CrowdOptions): { begun: Promise<void>; ended: Promise<void>; report: Promise<CrowdReport> }
}

async function newCrowd(): Promise<Crowd> {
  const child = fork(join(import.meta.dirname, 'crowd.ts'), ['run'], {
    execArgv: ['--import', 'tsx'],
    serialization: 'advanced',
  })
  const stop = () => child.kill('SIGKILL')
  process.once('exit', stop)
  child.once('exit', () => process.off('exit', stop))
  const said = (word: string) =>
    new Promise<void>((resolve) => child.on('message', (message) => message === word && resolve()))
  await said('ready')
  return {
    run(options) {
      child.send(options)
      const report = new Promise<CrowdReport>((resolve, reject) => {
        child.once('exit', () => reject(new Error('The generator ended early')))
        child.on('message', (message) => typeof message === 'object' && resolve(message as CrowdReport))
      })
      return { begun: said('begin'), ended: said('end'), report }
    },
  }
}

function quantiles(values: number[]): Quantiles {
  const sorted = Float64Array.from(values).sort()
  const at = (part: number) =>
    Math.round((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0) * 10) / 10
  return { p50: at(0.5), p99: at(0.99), max: at(1) }
}
