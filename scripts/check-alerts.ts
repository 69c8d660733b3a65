// npm run check:alerts: the alerts and the dashboard in deploy/, held against promtool and a node that runs. It needs
// promtool, which comes with Prometheus (Debian: apt-get install --no-install-recommends prometheus), and starts a node with
// a database of its own.
//
//   1. the rules are well-formed, and each rings and stays quiet as alerts.test.yml says
//   2. each query of the dashboard is well-formed, as a recording rule
//   3. /metrics is as Prometheus wants it
//   4. every metric that rules and dashboard name is exported by the node, with every label they choose by

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newKeys, newMembers, newServiceToken, newWorld, runOurs } from '../bench/world.ts'

const RULES = 'deploy/alerts.yml'
const DASHBOARD = 'deploy/grafana-dashboard.json'

type Target = { expr: string }
const { panels } = JSON.parse(readFileSync(DASHBOARD, 'utf8')) as { panels: { targets?: Target[] }[] }
const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => filledIn(expr)))

const folder = mkdtempSync(join(tmpdir(), 'storekeeper-alerts-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))

promtool(['check', 'rules', RULES])
promtool(['test', 'rules', 'deploy/alerts.test.yml'])
const recorded = join(folder, 'dashboard.yml')
const rules = queries.map((expr, n) => ({ record: `dashboard:query_${n}`, expr }))
// JSON is YAML, too.
writeFileSync(recorded, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }))
promtool(['check', 'rules', recorded])

const metrics = await scrape()
// Names of the process that a library gives are not ours to choose: only what is wrong with our own counts.
promtool(['check', 'metrics'], metrics, /^storekeeper_(nodejs|process)_/)

const used = new Set(
  [readFileSync(RULES, 'utf8'), ...queries].flatMap((text) => text.match(/\bstorekeeper_\w+/g) ?? []),
)
const missing = [...used].filter((name) => !new RegExp(`^${name}[ {]`, 'm').test(metrics))
if (missing.length > 0) fail(`no node exports ${missing.join(', ')}`)
console.log(`${queries.length} queries of the dashboard; ${used.size} metrics, all of them exported`)
process.exit(0)

function filledIn(expr: string): string {
  return expr.replaceAll('$__rate_interval', '1m').replaceAll('$job', 'storekeeper').replaceAll('$instance', '.*')
}

/** Fails if promtool does, unless all it complains of are metrics that match. */
function promtool(args: string[], input = '', except: RegExp = /^$/): void {
  const { status, stdout, stderr, error } = spawnSync('promtool', args, { input, encoding: 'utf8' })
  if (error) fail(`promtool could not be run (${error.message}): install Prometheus, on Debian "prometheus"`)
  const complaints = stderr.split('\n').filter((line) => line !== '' && !except.test(line))
  const isGood = status === 0 || (args[1] === 'metrics' && complaints.length === 0)
  if (!isGood) fail(`promtool ${args.join(' ')}\n${stdout}${stderr}`)
  console.log(`promtool ${args.slice(0, 2).join(' ')}: passed`)
}

/** The metrics of a node that has answered a few requests. */
async function scrape(): Promise<string> {
  const world = await newWorld()
  const { storeId, tokens } = await newMembers(world, 1)
  const service = await newServiceToken(world, storeId)
  const [made] = await newKeys(world, storeId, 1)
  const node = await runOurs(world)
  const ask = (path: string, token: string, body: object) =>
    fetch(`${node.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify(body),
    })
  for (let n = 0; n < 2; n++) await ask('/v1/keys/verify', service, { key: made?.key })
  await ask(`/v1/user/store/${storeId}/keys`, tokens[0] as string, { name: 'One', type: 'PROD', permissions: ['READ'] })
  const text = await (await fetch(`${node.url}/metrics`)).text()
  await node.stop()
  await world.close()
  return text
}

function fail(why: string): never {
  console.error(why)
  process.exit(1)
}
