// The bill of materials of the service (CycloneDX): npm's own, for the production dependencies, and the packages whose code is
// inside the built dashboard, which npm counts as dev dependencies. Its serial number and date are those of the content.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from '../check/steps.ts'

export type Component = {
  'bom-ref': string
  name: string
  version: string
  licenses?: { license?: { id?: string; name?: string }; expression?: string }[]
}
type Bill = {
  serialNumber?: string
  metadata: { timestamp: string; component: Component }
  components: Component[]
  dependencies: { ref: string; dependsOn?: string[] }[]
}

/** SOURCE_DATE_EPOCH, else the date of the commit. */
export function billOfMaterials(checkout: string, env = process.env): Bill {
  const bundled = JSON.parse(readFileSync(join(checkout, 'dist/dashboard/third-party.json'), 'utf8')) as Component[]
  const production = npmBill(checkout, ['--omit=dev'])
  const all = npmBill(checkout, [])
  const inDashboard = all.components.filter(({ name, version }) =>
    bundled.some((each) => each.name === name && each.version === version),
  )
  if (inDashboard.length < bundled.length) throw new Error('A package in the dashboard is not in the lock file.')
  // Of our own packages only the service is installed.
  const components = [...production.components, ...inDashboard].filter(({ name }) => !name.startsWith('@storekeeper/'))
  const unique = [...new Map(components.map((each) => [each['bom-ref'], each])).values()]
  unique.sort((a, b) => (a['bom-ref'] < b['bom-ref'] ? -1 : 1))
  const refs = new Set([production.metadata.component['bom-ref'], ...unique.map((each) => each['bom-ref'])])
  const dependencies = all.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((each) => refs.has(each)).toSorted() }))
    .toSorted((a, b) => (a.ref < b.ref ? -1 : 1))
  const seconds = env.SOURCE_DATE_EPOCH ?? run('git', ['log', '-1', '--format=%ct'], { cwd: checkout }).trim()
  const timestamp = new Date(Number(seconds) * 1000).toISOString()
  const { component } = production.metadata
  // npm names it after the folder.
  const name = component['bom-ref'].split('@')[0] as string
  const bill: Bill = {
    ...production,
    metadata: { ...production.metadata, timestamp, component: { ...component, name } },
    components: unique,
    dependencies,
  }
  delete bill.serialNumber
  return { ...bill, serialNumber: `urn:uuid:${uuidOf(JSON.stringify(bill))}` }
}

function npmBill(checkout: string, args: string[]): Bill {
  return JSON.parse(
    run('npm', ['sbom', '--sbom-format=cyclonedx', '--package-lock-only', ...args], { cwd: checkout }),
  ) as Bill
}

/** A version 8 UUID: bits of our own choice. */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
