// The generator of bench/stress/overload.ts, in a process of its own: it sends requests over raw sockets, at a fixed rate
// whether or not they are answered (open loop), or each when the one before was answered (closed loop). A latency counts
// from the moment a request was to be sent; how far the generator itself was behind is reported beside it.

import net from 'node:net'
import { getPriority, setPriority } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'

export type CrowdOptions = {
  url: string
  /** Sent in turn: whole requests, head and body. */
  requests: string[]
  seconds: number
  /** A second. Null is the closed loop: every connection sends again when it was answered. */
  rate: number | null
  /** Opened before the first request and kept, or at most so many at a time. */
  connections: number
  /** A connection for each request. */
  fresh: boolean
}

export type CrowdReport = {
  sent: number
  /** All connections were taken when they were to be sent. */
  unsent: number
  /** The generator had no time to send them. */
  missed: number
  accepted: { inTime: number; latencies: number[] }
  refused: { latencies: number[]; withoutRetryAfter: number }
  otherStatuses: Record<string, number>
  resets: number
  unanswered: number
  /** How late the generator sent. */
  lateMs: number[]
  /** Accepted requests by tenths of a second. */
  slices: number[]
}

type Connection = { socket: net.Socket; open: boolean; dueAt: number | null; received: Buffer | null }

const DRAIN_MS = 20_000
/** Each local address has 28,000 ports, and a closed connection occupies one for a minute. */
const LOCAL_ADDRESSES = 20
const OPENING_AT_A_TIME = 100
/** Then the answers are read, however many requests are due. */
const MAX_TICK_MS = 5

if (process.argv[2]) {
  // A crowd is on other machines: here it yields to the service, which would have a machine of its own.
  setPriority(0, Math.min(19, getPriority(0) + 5))
  process.once('message', (options: CrowdOptions) => {
    void newCrowd(options).then((report) => process.send?.(report, () => process.exit(0)))
  })
  process.send?.('ready')
}

async function newCrowd(options: CrowdOptions): Promise<CrowdReport> {
  const { url, seconds, rate, fresh } = options
  const port = Number(new URL(url).port)
  const requests = options.requests.map((text) => Buffer.from(text))
  const report: CrowdReport = {
    sent: 0,
    unsent: 0,
    missed: 0,
    accepted: { inTime: 0, latencies: [] },
    refused: { latencies: [], withoutRetryAfter: 0 },
    otherStatuses: {},
    resets: 0,
    unanswered: 0,
    lateMs: [],
    slices: [],
  }
  const free: Connection[] = []
  let opened = 0
  let underWay = 0
  let began = 0
  let end = Number.POSITIVE_INFINITY
  let drained = () => {}

  function open(onOpen = () => {}): Connection {
    opened += 1
    const localAddress = `127.0.0.${2 + (report.sent % LOCAL_ADDRESSES)}`
    const socket = net.connect({ port, host: '127.0.0.1', localAddress, noDelay: true })
    const connection: Connection = { socket, open: true, dueAt: null, received: null }
    socket.on('connect', onOpen)
    socket.on('data', (chunk) => onData(connection, chunk))
    socket.on('error', () => {})
    socket.on('close', () => {
      opened -= 1
      connection.open = false
      if (connection.dueAt === null) return
      report.resets += 1
      settle(connection)
    })
    return connection
  }

  function send(connection: Connection, dueAt: number): void {
    connection.dueAt = dueAt
    report.sent += 1
    underWay += 1
    report.lateMs.push(performance.now() - dueAt)
    // While it connects, the socket keeps what is written.
    connection.socket.write(requests[report.sent % requests.length] as Buffer)
  }

  function settle(connection: Connection): void {
    connection.dueAt = null
    underWay -= 1
    if (performance.now() >= end) {
      if (underWay === 0) drained()
    } else if (rate === null) sendNext(performance.now())
  }

  function sendNext(dueAt: number): void {
    let connection = free.pop()
    while (connection && !connection.open) connection = free.pop()
    if (connection) send(connection, dueAt)
    else if (rate === null || opened < options.connections) send(open(), dueAt)
    else report.unsent += 1
  }

  function onData(connection: Connection, chunk: Buffer): void {
    const bytes = connection.received ? Buffer.concat([connection.received, chunk]) : chunk
    const headEnd = bytes.indexOf('\r\n\r\n')
    const head = headEnd === -1 ? '' : bytes.toString('latin1', 0, headEnd).toLowerCase()
    const length = Number(/\ncontent-length: (\d+)/.exec(head)?.[1])
    if (headEnd === -1 || bytes.length < headEnd + 4 + length) {
      connection.received = bytes
      return
    }
    connection.received = null
    if (connection.dueAt === null) return
    count(head, performance.now() - connection.dueAt)
    if (fresh || head.includes('\nconnection: close')) {
      connection.open = false
      connection.socket.end()
    } else free.push(connection)
    settle(connection)
  }

  function count(head: string, ms: number): void {
    const status = head.slice(9, 12)
    const at = performance.now()
    if (status === '201' || status === '200') {
      report.accepted.latencies.push(ms)
      if (at > end) return
      report.accepted.inTime += 1
      const slice = Math.floor((at - began) / 100)
      report.slices[slice] = (report.slices[slice] ?? 0) + 1
    } else if (status === '503') {
      report.refused.latencies.push(ms)
      if (!head.includes('\nretry-after: ')) report.refused.withoutRetryAfter += 1
    } else report.otherStatuses[status] = (report.otherStatuses[status] ?? 0) + 1
  }

  if (!fresh)
    for (let n = 0; n < options.connections; n += OPENING_AT_A_TIME) {
      const batch = Math.min(OPENING_AT_A_TIME, options.connections - n)
      const opening = Array.from({ length: batch }, () => new Promise<void>((resolve) => free.push(open(resolve))))
      await Promise.all(opening)
    }
  process.send?.('begin')
  began = performance.now()
  end = began + seconds * 1000
  if (rate === null) for (let n = 0; n < options.connections; n++) sendNext(performance.now())
  else await sendAtRate(rate)
  await sleep(Math.max(0, end - performance.now()))
  process.send?.('end')
  if (underWay > 0)
    await Promise.race([
      new Promise<void>((resolve) => {
        drained = resolve
      }),
      sleep(DRAIN_MS),
    ])
  report.unanswered = underWay
  return report

  function sendAtRate(perSecond: number): Promise<void> {
    return new Promise((resolve) => {
      let n = 0
      const tick = () => {
        const tickBegan = performance.now()
        while (performance.now() < tickBegan + MAX_TICK_MS) {
          const dueAt = began + (n * 1000) / perSecond
          if (performance.now() >= end || dueAt >= end) {
            report.missed = Math.round(perSecond * seconds) - n
            return resolve()
          }
          if (dueAt > performance.now()) return setTimeout(tick, 1)
          n += 1
          sendNext(dueAt)
        }
        return setImmediate(tick)
      }
      tick()
    })
  }
}
