// The docs are true: what is generated is up to date, what can be run is run word for word, what is named exists, and
// every page of a running service answers as it should.

import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Ajv } from 'ajv'
import { expect, onTestFinished, test } from 'vitest'
import { generate } from '../scripts/generate.ts'
import { ADDRESS_FAULTS, ADDRESS_WARNINGS } from '../src/billing/address/findings.ts'
import { SETTING_ROWS } from '../src/config.ts'
import { ERRORS } from '../src/core/errors.ts'
import { KEY_TOKEN_KINDS } from '../src/core/key-types.ts'
import { mintToken, type TokenKind } from '../src/crypto/tokens.ts'
import { CustomerLine } from '../src/customers/schema.ts'
import { openapi } from '../src/http/openapi.ts'
import { FAULTS } from '../src/http/pages/faults.ts'
import { KeyLine } from '../src/keys/schema.ts'
import { routes } from '../src/routes.ts'
import { validate } from '../src/schema/validate.ts'
import { NEW_KEY, shop } from './shop.ts'

/** A test looks into documents freely, and a wrong look fails it. */
type Any = any

const PAGES = [
  ...readdirSync('.').filter((name) => name.endsWith('.md')),
  ...readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
].map((path) => ({ path, text: readFileSync(path, 'utf8') }))
const readme = readFileSync('README.md', 'utf8')

const blocksOf = (text: string, language: string) =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map((match) => match[1] as string)
const withoutBlocks = (text: string) => text.replace(/^```.*?^```/gms, '')
const codesIn = (text: string) => [...withoutBlocks(text).matchAll(/`([^`\n]+)`/g)].map((match) => match[1] as string)

// ---- generated ------------------------------------------------------------------------------------------------------

test('what is generated from the code is up to date: else run "npm run generate"', () => {
  for (const [path, text] of Object.entries(generate())) expect(readFileSync(path, 'utf8'), path).toBe(text)
})

test('every setting and every error stands in the docs', () => {
  const operations = readFileSync('docs/operations.md', 'utf8')
  const errors = readFileSync('docs/errors.md', 'utf8')
  expect(SETTING_ROWS.length).toBeGreaterThan(15)
  for (const { name } of SETTING_ROWS) expect(operations).toContain(`| \`${name}\` `)
  for (const code of Object.keys(ERRORS)) expect(errors).toContain(`\`${code}\``)
  expect(faultCodes().filter((code) => !errors.includes(`\`${code}\``))).toEqual([])
})

// ---- the README, word for word --------------------------------------------------------------------------------------

const hasShell = ['bash', 'curl'].every((tool) => spawnSync(tool, ['--version']).status === 0)

test.skipIf(!hasShell)('the shell blocks of the README do what it says', async () => {
  const { api } = await shop({ RATE_LIMIT: '600' })
  const address = 'http://127.0.0.1:3000'
  const script = blocksOf(readme, 'sh')
    .filter((block) => block.includes('curl '))
    .join('\n')
  expect(script).toContain(address)
  const { out, err } = await bash(script.replaceAll(address, api.url))
  expect(err).toBe('')
  const lines = out.trim().split('\n')
  expect(lines).toHaveLength(5)
  const [store, key, billing, first, second] = lines as [string, string, string, string, string]
  const [shownKey, shownAddress] = blocksOf(readme, 'json').map((block) => JSON.parse(block))
  expect(store).toMatch(/^store_[0-9a-z]{26}$/)
  expectLike(JSON.parse(key), shownKey)
  expectLike(JSON.parse(billing), shownAddress)
  expect(JSON.parse(first)).toMatchObject({ name: 'Nightly export', key: expect.stringMatching(/^skp_test_/) })
  expect(second).toBe(first)
})

async function bash(script: string, options: { cwd?: string; env?: Record<string, string> } = {}) {
  const PATH = `${dirname(process.execPath)}:${process.env.PATH}`
  const env = { ...process.env, PATH, ...options.env }
  const shell = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', script], { ...options, env })
  let out = ''
  let err = ''
  shell.stdout.on('data', (chunk) => (out += chunk))
  shell.stderr.on('data', (chunk) => (err += chunk))
  const status = await new Promise((resolve) => shell.once('close', resolve))
  expect({ status, err: status === 0 ? '' : err }).toEqual({ status: 0, err: '' })
  return { out, err }
}

/** The same members in the same order; where the docs say `…`, whatever begins like it. */
function expectLike(actual: Any, shown: Any): void {
  expect(alike(actual, shown)).toEqual(shown)
  expect(Object.keys(actual)).toEqual(Object.keys(shown))
}

function alike(actual: Any, shown: Any): Any {
  if (typeof shown === 'string' && shown.endsWith('…'))
    return typeof actual === 'string' && actual.startsWith(shown.slice(0, -1)) ? shown : actual
  if (Array.isArray(actual)) return actual.map((entry, i) => alike(entry, shown?.[i]))
  if (typeof actual !== 'object' || actual === null) return actual
  return Object.fromEntries(Object.entries(actual).map(([name, value]) => [name, alike(value, shown?.[name])]))
}

// ---- the walk through the events, word for word ---------------------------------------------------------------------

const eventsPage = readFileSync('docs/events.md', 'utf8')

test.skipIf(!hasShell)(
  'who gave a key a permission is found and proven as the page of events says',
  async () => {
    const { api, databaseUrl, serverSecret } = await shop({ alone: true })
    const [account] = blocksOf(readme, 'sh').filter((block) => block.includes('curl ')) as [string]
    const walk = sectionOf(eventsPage, 'Who gave this key that permission, and when, and how do I prove it?')
    const [make, anchor, ...ask] = blocksOf(walk, 'sh') as [string, string, ...string[]]
    const [, daily] = /^15 0 \* \* \* (.+)$/m.exec(blocksOf(eventsPage, 'crontab').join()) as unknown as [
      string,
      string,
    ]
    const script = [
      account.replaceAll('http://127.0.0.1:3000', api.url),
      make,
      // The five seconds that the page speaks of, or less.
      `until curl -s "$STOREKEEPER/v1/user/store/$STORE_ID/events/head" -H "Authorization: Bearer $TOKEN" | grep -q '"seq":3,'
     do sleep 0.1; done`,
      anchor,
      ...ask,
      // The other machine, in the same folder.
      `ssh() { bash -c "$2"; }; ${daily.replace('/opt/storekeeper', '.')}; echo; cat heads.txt`,
    ].join('\n')
    const env = { DATABASE_URL: databaseUrl, SERVER_SECRET: serverSecret }
    const { out, err } = await bash(script, { cwd: checkout(), env })
    expect(err).toBe('3 events.\n')

    const [told, kept] = out.split('\n\n').map((part) => part.trim().split('\n')) as [string[], string[]]
    const [store, found, member, verdict, ...lines] = told as [string, string, string, string, ...string[]]
    const [shownEvents, shownMember] = blocksOf(walk, 'json').map((block) => JSON.parse(block))
    expectLike(JSON.parse(found), shownEvents)
    expectLike(JSON.parse(member), shownMember)
    const events = lines.map((line) => JSON.parse(line))
    expect(JSON.parse(found).data).toEqual(
      events.map(({ seq: position, hash: _, ...event }) => ({ ...event, position })).reverse(),
    )
    expect(verdict).toBe(`Sound: 3 events of ${store}, head ${events[1].hash}`)

    const heads = kept.slice(0, 3).map((line) => JSON.parse(line))
    expect(heads.map(({ storeId }) => storeId)).toEqual(expect.arrayContaining([store, null]))
    expect(heads).toContainEqual({ storeId: store, seq: 3, hash: events[1].hash, at: expect.any(String) })
    // What cron adds: the date, and the same lines once more, for nothing has happened since.
    expect(kept).toEqual([...kept.slice(0, 3), expect.stringContaining('UTC'), ...kept.slice(0, 3)])
  },
  240_000,
)

/** A folder in which npm finds the commands, for what the walk writes. They are built before, which says a word. */
function checkout(): string {
  const folder = mkdtempSync(join(tmpdir(), 'storekeeper-docs-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const name of ['package.json', 'bin']) symlinkSync(join(process.cwd(), name), join(folder, name))
  expect(spawnSync(process.execPath, ['bin/storekeeper.js', 'help']).status).toBe(0)
  return folder
}

function sectionOf(text: string, title: string): string {
  const [, section] = text.split(`\n## ${title}\n`)
  return (section as string).split(/^## /m)[0] as string
}

test('the checksum of a key is as the page for scanners tells it', async () => {
  const page = readFileSync('docs/leaks.md', 'utf8')
  const [rule] = blocksOf(page, 'js')
  const { isWellFormed } = await import(`data:text/javascript,${encodeURIComponent(rule as string)}`)
  const forms = blocksOf(page, 'regex').map((block) => new RegExp(`^${block.trim()}$`))
  expect(forms).toHaveLength(2)
  for (const kind of [...KEY_TOKEN_KINDS, 'sess', 'svc', 'inv', 'reset', 'confirm'] as TokenKind[]) {
    const token = mintToken('skp', kind).reveal()
    expect(forms.filter((form) => form.test(token))).toHaveLength(1)
    expect(isWellFormed(token)).toBe(true)
    expect(isWellFormed(`${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`)).toBe(false)
  }
  const example = codesIn(page).find((code) => code.startsWith('skp_test_0')) as string
  expect([isWellFormed(example), forms[0]?.test(example)]).toEqual([true, true])
})

// ---- what is named exists -------------------------------------------------------------------------------------------

test('every link in the docs leads somewhere', () => {
  let followed = 0
  for (const { path, text } of PAGES)
    for (const [, link] of withoutBlocks(text).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(link as string)) continue
      const [file, anchor] = (link as string).split('#') as [string, string?]
      const target = file === '' ? path : join(dirname(path), file)
      expect(existsSync(target), `${path} → ${link}`).toBe(true)
      if (anchor) expect(anchorsOf(readFileSync(target, 'utf8')), `${path} → ${link}`).toContain(anchor)
      followed += 1
    }
  expect(followed).toBeGreaterThan(20)
})

function anchorsOf(text: string): string[] {
  return [...withoutBlocks(text).matchAll(/^#+ (.+)$/gm)].map((match) =>
    (match[1] as string)
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

test('every file, command and error code that the docs name exists', () => {
  const scripts = Object.keys(JSON.parse(readFileSync('package.json', 'utf8')).scripts)
  const ofClient = [...readFileSync('packages/client/src/error.ts', 'utf8').matchAll(/^ {2}\| '(\w+)'$/gm)]
  const codes = [...Object.keys(ERRORS), ...faultCodes(), ...ofClient.map(([, code]) => code)]
  for (const { path, text } of PAGES) {
    for (const word of codesIn(text)) {
      if (/^(src|docs|tests|scripts|migrations|bin|\.ci)\/[\w./-]*$/.test(word))
        expect(existsSync(word), `${path} names ${word}`).toBe(true)
      if (isCode(word)) expect(codes, `${path} names ${word}`).toContain(word)
    }
    for (const [, name] of text.matchAll(/npm run (?:--silent )?([\w:-]+)/g)) expect(scripts, path).toContain(name)
    for (const [, code] of text.matchAll(/\/errors\/(\w+)/g))
      if (code !== 'its_code') expect(codes, path).toContain(code)
  }
})

test('the page on high availability shows the files that were tested, word for word', () => {
  const page = readFileSync('docs/high-availability.md', 'utf8')
  const files = readdirSync('deploy/high-availability')
  expect(files).toEqual(['haproxy.cfg', 'patroni.env', 'patroni.yml'])
  for (const file of files)
    expect(page).toContain(`\n${readFileSync(join('deploy/high-availability', file), 'utf8')}\`\`\``)
})

/** Words in that form that are no error codes of the service: names in PostgreSQL, in metrics, in examples, in the client. */
const OTHER_WORDS =
  /^(storekeeper_.*|full_page_writes|json_to_recordset|addresses_one_default|address_(versions|defaults|contents|holds)|api_keys|events_actor_idx|event_(seals|heads)|key_(rotations|usage|permission_use)|idempotent_responses|shared_buffers|max_wal_size|checkpoint_timeout|wal_compression|pg_(dump|restore|upgrade|wal)|archive_command|in_progress|its_code|server_secret|synchronous_commit|synchronous_mode_strict|loop_wait|retry_timeout|remote_(write|apply)|max_age|auth_time|email_verified|at_hash|c_hash|s_hash|jwks_uri|insufficient_user_authentication|insufficient_scope|wrong_type|usage_exceeded)$/

function isCode(word: string): boolean {
  return /^[a-z]+(_[a-z]+)+$/.test(word) && !OTHER_WORDS.test(word)
}

/** The codes of single faults, as they stand in the code. */
function faultCodes(): string[] {
  const source = readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .map((file) => readFileSync(join('src', file), 'utf8'))
    .join('\n')
  const literal = [...source.matchAll(/\bcode: '([a-z_]+)'|\b(?:report|refuse)\((?:[^,]+, )?'([a-z_]+)', /g)].map(
    (match) => (match[1] ?? match[2]) as string,
  )
  return [...new Set([...literal, ...Object.keys(ADDRESS_FAULTS), ...Object.keys(ADDRESS_WARNINGS)])]
}

// ---- the OpenAPI document -------------------------------------------------------------------------------------------

const document = openapi(routes) as Any
const operations = Object.entries<Any>(document.paths).flatMap(([path, methods]) =>
  Object.entries<Any>(methods).map(([method, operation]) => ({ path, method, operation })),
)

test('the document is OpenAPI 3.1, and every operation says what it should', () => {
  expect(document.openapi).toMatch(/^3\.1\.\d+$/)
  expect(document.info).toMatchObject({ title: 'Storekeeper', version: expect.stringMatching(/^\d+\.\d+\.\d+$/) })
  expect(operations).toHaveLength(routes.length)
  const ids = operations.map(({ operation }) => operation.operationId)
  expect(new Set(ids).size).toBe(ids.length)
  const tags = document.tags.map((tag: Any) => tag.name)
  for (const { path, method, operation } of operations) {
    const name = `${method} ${path}`
    expect(operation.operationId, name).toMatch(/^[a-z][A-Za-z]+(\.[a-z][A-Za-z]+){1,2}$/)
    expect(operation.summary, name).toMatch(/\S/)
    expect(operation.description, name).toMatch(/\S/)
    expect(tags, name).toContain(operation.tags[0])
    expect(['get', 'post', 'put', 'patch', 'delete'], name).toContain(method)
    for (const [status, response] of Object.entries<Any>(operation.responses)) {
      expect(status, name).toMatch(/^[2345]\d\d$/)
      expect(response.description, name).toMatch(/\S/)
      // Where browsers are sent, a refusal is a page too.
      const types = Object.keys(response.content ?? {}).filter(
        (type) => type !== 'text/html' || !path.includes('/oidc/'),
      )
      if (Number(status) >= 400) expect(types, name).toEqual(['application/problem+json'])
    }
    expect(Object.keys(operation.responses).some((status) => /^[23]/.test(status))).toBe(true)
    const params = operation.parameters.filter((parameter: Any) => parameter.in === 'path')
    expect(params.map((parameter: Any) => `{${parameter.name}}`)).toEqual(path.match(/\{\w+\}/g) ?? [])
    for (const parameter of operation.parameters) expect(parameter.schema, name).toBeTypeOf('object')
    expect(new Set(operation.parameters.map((parameter: Any) => `${parameter.in} ${parameter.name}`)).size).toBe(
      operation.parameters.length,
    )
  }
  for (const requirement of document.security)
    for (const scheme of Object.keys(requirement)) expect(document.components.securitySchemes).toHaveProperty(scheme)
})

test('every operation, parameter, response, schema and property in the document has a description', () => {
  const document = openapi(routes) as Any
  const bare: string[] = []
  const look = (value: Any, at: string) => {
    if (typeof value !== 'object' || value === null) return
    const kept = [
      ...Object.entries(value.properties ?? {}).map(([name, property]) => [`${at}.${name}`, property]),
      ...Object.entries(value.responses ?? {}).map(([status, response]) => [`${at} ${status}`, response]),
      ...(value.parameters ?? []).map((parameter: Any) => [`${at} ${parameter.name}`, parameter]),
      ...(value.operationId ? [[value.operationId, value]] : []),
    ] as [string, Any][]
    // A reference has the description of what it refers to.
    for (const [where, { $ref, description }] of kept) if (!$ref && !description?.endsWith('.')) bare.push(where)
    for (const [name, member] of Object.entries(value)) if (!name.startsWith('example')) look(member, `${at}.${name}`)
  }
  look(document, '#')
  for (const [name, schema] of Object.entries<Any>(document.components.schemas))
    if (!schema.description) bare.push(name)
  expect(bare).toEqual([])
})

test('the document says what a webhook is sent', () => {
  const { parameters, requestBody } = document.webhooks.event.post
  expect(parameters.map(({ name }: Any) => name)).toEqual(['webhook-id', 'webhook-timestamp', 'webhook-signature'])
  const { properties } = resolve(requestBody.content['application/json'].schema.$ref)
  expect(Object.keys(properties)).toEqual(['type', 'timestamp', 'id', 'storeId', 'actor', 'subject', 'data'])
})

test('every reference in the document resolves, and every schema and header is used and known', () => {
  const used = new Set<string>()
  everyNode(document, (node) => {
    if (!('$ref' in node)) return
    used.add(node.$ref)
    expect(resolve(node.$ref), node.$ref).toBeTypeOf('object')
  })
  expect([...used].sort()).toEqual(
    ['headers', 'schemas'].flatMap((kind) =>
      Object.keys(document.components[kind]).map((name) => `#/components/${kind}/${name}`),
    ),
  )
  const types = ['string', 'integer', 'number', 'boolean', 'object', 'array', 'null']
  everyNode(document.components.schemas, (node) => {
    if (typeof node.type === 'string' || Array.isArray(node.type))
      for (const type of [node.type].flat()) expect(types).toContain(type)
    if (Array.isArray(node.required) && node.type === 'object')
      for (const name of node.required) expect(Object.keys(node.properties)).toContain(name)
    for (const name of Object.keys(node)) expect(name).not.toMatch(/^x-/)
  })
})

test('every body in the document has an example that passes its schema', () => {
  const bodies = operations.filter(({ operation }) => operation.requestBody)
  expect(bodies.length).toBeGreaterThan(8)
  for (const { path, method, operation } of bodies) {
    const [{ schema, example }] = Object.values<Any>(operation.requestBody.content)
    expect(example, `${method} ${path}`).toBeTypeOf('object')
    expect(validate(inlined(schema), structuredClone(example)), `${method} ${path}`).toEqual([])
  }
})

test('every schema that input is held against is sound, for nobody checks it when the service starts', () => {
  const ajv = new Ajv({ strict: false, validateFormats: false })
  const schemas = routes.flatMap(({ method, path, query, body }) =>
    [query, body].filter((schema) => schema != null).map((schema) => ({ name: `${method} ${path}`, schema })),
  )
  expect(schemas.length).toBeGreaterThan(40)
  const lines = [CustomerLine, KeyLine].map((schema) => ({ name: 'a line of an import', schema }))
  for (const { name, schema } of [...schemas, ...lines]) expect(ajv.validateSchema(schema), name).toBe(true)
  expect(ajv.validateSchema({ type: 'strnig' })).toBe(false)
})

function resolve(ref: string): Any {
  const steps = ref.replace(/^#\//, '').split('/')
  return steps.reduce((node, step) => node?.[step], document)
}

function inlined(schema: Any): Any {
  if (typeof schema !== 'object' || schema === null) return schema
  if (Array.isArray(schema)) return schema.map(inlined)
  if ('$ref' in schema) return inlined(resolve(schema.$ref))
  return Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, inlined(value)]))
}

function everyNode(node: Any, visit: (node: Any) => void): void {
  if (typeof node !== 'object' || node === null) return
  if (!Array.isArray(node)) visit(node)
  for (const inner of Object.values(node)) everyNode(inner, visit)
}

// ---- the pages of a running service ---------------------------------------------------------------------------------

test('every page answers with its type and a strict policy', async () => {
  const { api } = await shop()
  const documents = ['/docs?q=key', '/docs/reference', '/docs/start', '/docs/api', '/docs/tutorials/protect-your-api']
  const pages = ['/docs', ...documents, '/errors', ...Object.keys(ERRORS).map((code) => `/errors/${code}`)]
  for (const path of pages) {
    const { status, headers, text } = await api.get(path)
    expect([path, status, headers.get('content-type')]).toEqual([path, 200, 'text/html; charset=utf-8'])
    const style = /<style>(.*?)<\/style>/s.exec(text)?.[1] as string
    const hash = createHash('sha256').update(style).digest('base64')
    expect(headers.get('content-security-policy')).toBe(
      `default-src 'none'; style-src 'sha256-${hash}'; frame-ancestors 'none'; base-uri 'none'; img-src 'self'; form-action ${text.includes('<form') ? "'self'" : "'none'"}`,
    )
    expect(headers.get('cache-control')).toBe('public, max-age=300')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(text).toMatch(/^<!doctype html><html lang="en">/)
    expect(text.replace(/<pre.*?<\/pre>/gs, '')).not.toMatch(/<script|<img|<link|\sstyle=|\son\w+="|url\(|\ssrc=/i)
  }
  const others: [string, string, RegExp][] = [
    ['/openapi.json', 'application/json; charset=utf-8', /^\{"openapi":"3\.1/],
    ['/livez', 'application/json; charset=utf-8', /^\{"status":"alive"\}$/],
    ['/readyz', 'application/json; charset=utf-8', /^\{"status":"ready"\}$/],
    ['/metrics', 'text/plain; version=0.0.4; charset=utf-8', /^# HELP/],
  ]
  for (const [path, type, begins] of others) {
    const { status, headers, text } = await api.get(path)
    expect([path, status, headers.get('content-type')]).toEqual([path, 200, type])
    expect(headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'")
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(text).toMatch(begins)
  }
  expect(JSON.parse((await api.get('/openapi.json')).text)).toEqual(JSON.parse(JSON.stringify(document)))
})

test('every operation stands on /docs/reference, and every link of every page leads somewhere', async () => {
  const { api } = await shop()
  const anchors = new Map<string, Set<string>>()
  const [waiting, found] = [['/docs'], new Set<string>()]
  for (const path of waiting) {
    if (anchors.has(path)) continue
    const { status, text, headers } = await api.get(path)
    expect([path, status]).toEqual([path, 200])
    const ids = [...text.matchAll(/\sid="([^"]+)"/g)].map((match) => match[1] as string)
    if (path !== '/docs/changelog') expect([path, ids.length]).toEqual([path, new Set(ids).size])
    anchors.set(path, new Set(ids))
    if (!headers.get('content-type')?.startsWith('text/html')) continue
    for (const [, href] of text.matchAll(/href="([^"]+)"/g)) {
      if (/^https?:/.test(href as string)) continue
      const [target = '', anchor] = (href as string).split('#')
      found.add(`${target || path}#${anchor ?? ''}`)
      waiting.push(target || path)
    }
  }
  for (const link of found) {
    const [path = '', anchor] = link.split('#')
    if (anchor) expect(anchors.get(path), link).toContain(anchor)
  }
  expect([...(anchors.get('/docs/reference') ?? [])]).toEqual(expect.arrayContaining(routes.map(({ id }) => id)))
  const documents = PAGES.map(({ path }) => path.replace(/\.md$/, '')).filter((path) => path.startsWith('docs/'))
  for (const path of documents) if (path !== 'docs/errors') expect([...anchors.keys()]).toContain(`/${path}`)
  for (const code of Object.keys({ ...ERRORS, ...FAULTS })) expect([...anchors.keys()]).toContain(`/errors/${code}`)
})

test('a fault has a page of its own, which says what to do', async () => {
  const { api } = await shop()
  const codes = faultCodes()
  expect(codes.filter((code) => !Object.hasOwn({ ...FAULTS, ...ERRORS }, code))).toEqual([])
  expect(Object.keys(FAULTS).filter((code) => !codes.includes(code))).toEqual([])
  const { status, text } = await api.get('/errors/invalid_postal_code')
  expect([status, text.includes(FAULTS.invalid_postal_code?.help.slice(0, 40) as string)]).toEqual([200, true])
})

test('the search finds documents, operations, errors and faults, and shows what was asked as text', async () => {
  const { api } = await shop()
  const firstFor = async (query: string) => {
    const { status, text } = await api.get(`/docs?q=${encodeURIComponent(query)}`)
    expect([query, status]).toEqual([query, 200])
    return /<ul class="results"><li><a href="([^"]+)"/.exec(text)?.[1] ?? null
  }
  expect(await firstFor('invalid_postal_code')).toBe('/errors/invalid_postal_code')
  expect(await firstFor('rotate a key')).toBe('/docs/reference#keys.rotate')
  expect(await firstFor('Keycloak')).toBe('/docs/guides/identity-provider#keycloak')
  expect(await firstFor('checkout form')).toMatch('/docs/tutorials/checkout-addresses')
  expect(await firstFor('JWT_AUDIENCE')).not.toBeNull()
  expect(await firstFor('xyzzy plugh')).toBeNull()
  await firstFor('( [ \\ * + $ ^ ')
  const nasty = '"><script>alert(1)</script>&amp;'
  const { text } = await api.get(`/docs?q=${encodeURIComponent(nasty)}`)
  expect(text).not.toContain('<script')
  expect(text).toContain('value="&quot;>&lt;script>alert(1)&lt;/script>&amp;amp;"')
  for (const empty of ['/docs?q=', '/docs?q=%20', '/docs?other=1'])
    expect((await api.get(empty)).text).toContain('<h1>Docs')
})

test('a wrong URL is a page in a browser and a problem for everybody else; there is an icon', async () => {
  const { api } = await shop()
  const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
  for (const path of [
    '/nowhere',
    '/docs/nowhere',
    '/docs/../../etc/passwd',
    '/docs/decisions/%2e%2e',
    '/errors/nowhere',
    '/v1/nowhere',
  ]) {
    const page = await api.get(path, { headers: { accept: browser } })
    expect([path, page.status, page.headers.get('content-type')]).toEqual([path, 404, 'text/html; charset=utf-8'])
    expect(page.text).toMatch(/<form class="search" action="\/docs".*href="\/docs"/s)
    expect(page.headers.get('cache-control')).toBe('no-store')
    for (const accept of [
      '*/*',
      'application/json',
      'application/json, text/plain, */*',
      'application/problem+json, text/html',
    ]) {
      const problem = await api.get(path, { headers: { accept } })
      expect([path, problem.status, problem.body?.code]).toEqual([path, 404, 'not_found'])
    }
  }
  expect((await api.post('/nowhere', {}, { headers: { accept: browser } })).body.code).toBe('not_found')
  const icon = await api.get('/favicon.ico')
  expect([icon.status, icon.headers.get('content-type'), icon.headers.get('cache-control')]).toEqual([
    200,
    'image/x-icon',
    'public, max-age=86400',
  ])
})

test('the type of a problem leads to a page about it', async () => {
  const { api, keys, owner } = await shop()
  const problems = [
    await api.get('/nothing/here'),
    await api.get('/v1/user'),
    await api.post(keys, { ...NEW_KEY, type: 'LIVE' }, { as: owner.token }),
    await api.get('/errors/no_such_code'),
  ]
  expect(problems.map(({ body }) => body.code)).toEqual(['not_found', 'unauthenticated', 'invalid_input', 'not_found'])
  for (const { body } of problems) {
    const page = await fetch(new URL(body.type, api.url))
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(await page.text()).toContain(`<code>${body.code}</code>`)
  }
})

test('every metric that the docs name is there', async () => {
  const { api } = await shop()
  const named = codesIn(readFileSync('docs/operations.md', 'utf8')).filter((word) => /^storekeeper_/.test(word))
  expect(named.length).toBeGreaterThan(4)
  await api.get('/v1/user')
  const { text } = await api.get('/metrics')
  for (const name of named) expect(text).toContain(name.replace('…', ''))
})
