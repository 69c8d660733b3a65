// npm run stress:alarms: alarms that ring. A node and a Prometheus with deploy/alerts.yml run on loopback; three things are
// broken in turn, and mended again, and Prometheus is asked which alerts fire. Prints how long each alert took to fire and
// to be over. Takes five minutes; needs Debian's prometheus (apt-get install --no-install-recommends prometheus).

import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import net, { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { newMembers, newWorld, runOurs } from '../world.ts'

const SEALING_LOCK = 7_320_001
const PATIENCE_MS = 240_000
/** Prometheus does not answer yet. */
const UNKNOWN = 'unknown'

const world = await newWorld()
const { storeId, tokens } = await newMembers(world, 1)
const port = String(await freePort())
let node = await runOurs(world, { PORT: port })
const prometheus = await startPrometheus(`127.0.0.1:${port}`)

const rows: { broken: string; alert: string; 'fires after s': number; 'over after s': number }[] = []
const seconds = (since: number) => Math.round((performance.now() - since) / 1000)

async function ring(broken: string, alert: string, breakIt: () => Promise<unknown>, mend: () => Promise<unknown>) {
  // Others may still fire: failures of what was broken before count for ten minutes.
  await until(async () => !(await firing()).some((name) => name === alert || name === UNKNOWN))
  await breakIt()
  const brokenAt = performance.now()
  await until(async () => (await firing()).includes(alert))
  const firesAfter = seconds(brokenAt)
  await mend()
  const mendedAt = performance.now()
  await until(async () => !(await firing()).includes(alert))
  rows.push({ broken, alert, 'fires after s': firesAfter, 'over after s': seconds(mendedAt) })
  console.log(rows.at(-1))
}

await ring(
  'somebody else holds the lock of sealing, and a key is created',
  'StorekeeperSealingLate',
  async () => {
    await world.sql(`select pg_advisory_lock(${SEALING_LOCK})`)
    const created = await fetch(`${node.url}/v1/user/store/${storeId}/keys`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${tokens[0]}` },
      body: JSON.stringify({ name: 'Unsealed', type: 'PROD', permissions: ['READ'] }),
    })
    if (created.status !== 201) throw new Error(`the key was answered with ${created.status}`)
  },
  () => world.sql(`select pg_advisory_unlock(${SEALING_LOCK})`),
)
await ring(
  'the database takes no writes',
  'StorekeeperNoPrimary',
  () => readOnly('on'),
  () => readOnly('off'),
)
await ring(
  'the node is stopped',
  'StorekeeperInstanceDown',
  () => node.stop(),
  async () => {
    node = await runOurs(world, { PORT: port })
  },
)
console.table(rows)
await node.stop()
await prometheus.stop()
await world.close()
process.exit(0)

async function readOnly(value: 'on' | 'off'): Promise<void> {
  await world.sql('set default_transaction_read_only = off')
  await world.sql(`alter system set default_transaction_read_only = ${value}`)
  await world.sql('select pg_reload_conf()')
}

async function firing(): Promise<string[]> {
  const response = await fetch(`${prometheus.url}/api/v1/alerts`).catch(() => null)
  if (!response?.ok) return [UNKNOWN]
  const { data } = (await response.json()) as { data: { alerts: { state: string; labels: { alertname: string } }[] } }
  return data.alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname)
}

async function startPrometheus(target: string) {
  const folder = mkdtempSync(join(tmpdir(), 'storekeeper-prometheus-'))
  const config = join(folder, 'prometheus.yml')
  // JSON is YAML, too.
  writeFileSync(
    config,
    JSON.stringify({
      global: { scrape_interval: '5s', evaluation_interval: '5s' },
      rule_files: [resolve('deploy/alerts.yml')],
      scrape_configs: [{ job_name: 'storekeeper', static_configs: [{ targets: [target] }] }],
    }),
  )
  const address = `127.0.0.1:${await freePort()}`
  const args = [
    `--config.file=${config}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=${address}`,
  ]
  const child = spawn('prometheus', args, { stdio: 'ignore' })
  process.once('exit', () => {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    url: `http://${address}`,
    stop: () =>
      new Promise<void>((resolve) => {
        child.once('exit', () => resolve())
        child.kill('SIGTERM')
      }),
  }
}

async function freePort(): Promise<number> {
  const server = net.createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + PATIENCE_MS; performance.now() < end; await sleep(500))
    if (await condition()) return
  throw new Error('It did not happen.')
}
