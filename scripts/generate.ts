// npm run generate: writes what the docs take from the code, and the row types that the code takes from the migrations, so
// that each is said in one place. tests/docs.test.ts and src/db/tables.test.ts make the same in memory and compare.

import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { ADDRESS_FAULTS, ADDRESS_WARNINGS } from '../src/billing/address/findings.ts'
import { countrySummaries, showCountry } from '../src/billing/countries/routes.ts'
import type { Country } from '../src/billing/countries/schema.ts'
import { SETTING_ROWS } from '../src/config.ts'
import { ERRORS } from '../src/core/errors.ts'
import { EVENT_TYPES } from '../src/events/schema.ts'
import { openapi } from '../src/http/openapi.ts'
import { routes } from '../src/routes.ts'
import { clientTypes } from './client-types.ts'
import { tableTypes, withMigratedDatabase } from './tables.ts'

const ROOT = new URL('../', import.meta.url)
const CLIENT_TYPES = 'packages/client/src/api.gen.ts'

/** Each generated file as it should be, by its path. */
export function generate(): Record<string, string> {
  return {
    [CLIENT_TYPES]: formatted(CLIENT_TYPES, clientTypes(routes)),
    'docs/openapi.json': `${JSON.stringify(openapi(routes), null, 2)}\n`,
    'docs/events.md': filled('docs/events.md', { types }),
    'docs/countries.md': filled('docs/countries.md', { countries }),
    'docs/operations.md': filled('docs/operations.md', { settings }),
    'docs/errors.md': filled('docs/errors.md', {
      errors,
      'address faults': words(ADDRESS_FAULTS),
      'address warnings': words(ADDRESS_WARNINGS),
    }),
  }
}

/** The row types, from a migrated database. */
export async function generateTables(query: Parameters<typeof tableTypes>[0]): Promise<Record<string, string>> {
  const path = 'src/db/tables.gen.ts'
  return { [path]: formatted(path, await tableTypes(query)) }
}

/** The file as it is, with what stands between `<!-- name -->` and `<!-- /name -->` made anew. */
function filled(path: string, parts: Record<string, () => string>): string {
  let page = readFileSync(new URL(path, ROOT), 'utf8')
  for (const [name, make] of Object.entries(parts)) {
    const [open, close] = [`<!-- ${name} -->\n`, `<!-- /${name} -->`]
    const [start, end] = [page.indexOf(open), page.indexOf(close)]
    if (start < 0 || end < start) throw new Error(`${path} has no place for ${name}`)
    page = `${page.slice(0, start)}${open}\n${make()}\n\n${page.slice(end)}`
  }
  return formatted(path, page)
}

/** In the form the formatter gives it, so that a check of the tree finds nothing to change. */
function formatted(path: string, text: string): string {
  const biome = fileURLToPath(new URL('node_modules/.bin/biome', ROOT))
  const { status, stdout, stderr } = spawnSync(biome, ['format', `--stdin-file-path=${path}`], {
    cwd: fileURLToPath(ROOT),
    input: text,
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`${path} could not be formatted: ${stderr}`)
  return stdout
}

function settings(): string {
  return table(
    ['Variable', 'Default', 'Meaning'],
    SETTING_ROWS.map(({ name, fallback, description }) => [
      `\`${name}\``,
      fallback ? `\`${fallback}\`` : 'none',
      description,
    ]),
  )
}

function errors(): string {
  return table(
    ['Status', '`code`', 'Meaning', 'What to do'],
    Object.entries(ERRORS).map(([code, { status, title, help }]) => [String(status), `\`${code}\``, title, help]),
  )
}

function types(): string {
  return table(
    ['`type`', 'What happened', '`subject`', '`data`'],
    Object.entries(EVENT_TYPES).map(([type, { subject, about, data }]) => [
      `\`${type}\``,
      about,
      `\`${subject}_…\``,
      data.map((name) => name.replace(/\w+/, '`$&`')).join(', ') || 'nothing',
    ]),
  )
}

const SHORT: Record<string, string> = { firstName: 'first name', lastName: 'last name', addressLine1: 'address' }

/** What a change of the rules would change, a line for each country. */
function countries(): string {
  return table(
    ['Code', 'Country', 'Fields in local order', 'Postal code', 'States', 'Notes'],
    countrySummaries().map(({ code, name }) => {
      const { fields, subdivisions, ...rules } = showCountry(code) as Country
      const written = fields.filter((field) => !['addressLine2', 'country', 'taxId', 'phone'].includes(field.name))
      const notes = [
        ...(rules.familyNameFirst ? ['family name first'] : []),
        ...(rules.mononyms ? ['one name is a name'] : []),
        ...(rules.onlyListedStates ? ['only these states'] : []),
      ]
      return [
        `\`${code}\``,
        name,
        written
          .map(({ name, label, required }) => {
            const word =
              SHORT[name] ?? (label.charAt(1) === label.charAt(1).toUpperCase() ? label : label.toLowerCase())
            return required ? `**${word}**` : word
          })
          .join(', '),
        fields.find((field) => field.name === 'postalCode')?.example ?? '',
        subdivisions.length > 0 ? String(subdivisions.length) : '',
        notes.join(', '),
      ]
    }),
  )
}

function words(meanings: Record<string, string>): () => string {
  return () =>
    table(
      ['`code`', 'Meaning'],
      Object.entries(meanings).map(([code, description]) => [`\`${code}\``, description]),
    )
}

function table(head: string[], rows: string[][]): string {
  return [head, head.map(() => '---'), ...rows]
    .map(
      (cells) =>
        `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('__', '\\_\\_')).join(' | ')} |`,
    )
    .join('\n')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const files = { ...generate(), ...(await withMigratedDatabase(generateTables)) }
  for (const [path, text] of Object.entries(files)) writeFileSync(new URL(path, ROOT), text)
}
