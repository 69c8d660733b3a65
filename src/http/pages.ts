// What is not part of the API: health, metrics, the OpenAPI document, and pages for people. The pages are made from the
// same rows and tables as everything else, need no script, and load nothing from anywhere. (A ready-made viewer was
// tried and left: 4 MB of script held in memory, and calls to hosts outside.)

import { createHash } from 'node:crypto'
import { ERRORS, type ErrorCode, Failure, type FailureDetails, fail } from '../core/errors.ts'
import type { Route } from '../core/route.ts'
import type { Database } from '../db/db.ts'
import { sql } from '../db/db.ts'
import type { Metrics } from './metrics.ts'
import { accessText, errorsOf, openapi, operationId, tagOf } from './openapi.ts'
import { renderProblem } from './problem.ts'

export type Page = {
  path: string
  render(params: Record<string, string>): Promise<{ status: number; headers: Record<string, string>; body: string }>
}

export type PageParts = { routes: Route[]; db: Database; metrics: Metrics; draining: () => boolean }

const READY_TIMEOUT_MS = 1_000

export function buildPages({ routes, db, metrics, draining }: PageParts): Page[] {
  const document = JSON.stringify(openapi(routes))
  const docs = docsPage(routes)
  return [
    page('/', () => html(200, FRONT)),
    page('/docs', () => html(200, docs)),
    page('/errors', () => html(200, errorsPage())),
    page('/errors/:code', ({ code }) =>
      Object.hasOwn(ERRORS, code ?? '') ? html(200, errorPage(code as ErrorCode, routes)) : fail('not_found'),
    ),
    page('/openapi.json', () => ({
      status: 200,
      headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-cache' },
      body: document,
    })),
    page('/livez', () => health(200, 'alive')),
    page('/readyz', async () => {
      if (draining()) return health(503, 'stopping')
      return (await answers(db)) ? health(200, 'ready') : health(503, 'the database does not answer')
    }),
    page('/metrics', async () => {
      const { type, text } = await metrics.read()
      return { status: 200, headers: { 'content-type': type }, body: text }
    }),
  ]
}

type Shown = Awaited<ReturnType<Page['render']>>

function page(path: string, show: (params: Record<string, string>) => Shown | Promise<Shown>): Page {
  return { path, render: async (params) => show(params) }
}

function health(status: number, word: string): Shown {
  const headers: Record<string, string> = { 'content-type': 'application/json; charset=utf-8' }
  if (status === 503) headers['retry-after'] = '1'
  return { status, headers, body: JSON.stringify({ status: word }) }
}

async function answers(db: Database): Promise<boolean> {
  const late = new Promise<false>((resolve) => setTimeout(resolve, READY_TIMEOUT_MS, false).unref())
  return Promise.race([
    db.query(sql`select 1`).then(
      () => true,
      () => false,
    ),
    late,
  ])
}

// ---- pages for people -----------------------------------------------------------------------------------------------

const STYLE = `
:root { color-scheme: light dark; --page: #fbfaf7; --card: #fff; --ink: #1d2420; --quiet: #5d6860; --line: #e2e0d8; --code: #f3f1ea;
  --accent: #1f6b4a; --get: #1d5fa8; --post: #1f6b4a; --patch: #8f5400; --delete: #a8321f; }
@media (prefers-color-scheme: dark) { :root { --page: #131715; --card: #1a1f1c; --ink: #e6ebe8; --quiet: #9daba3; --line: #2d3530; --code: #202723;
  --accent: #7cc6a0; --get: #8cbcf0; --post: #7cc6a0; --patch: #e3b268; --delete: #f0968a; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.6 system-ui, sans-serif; }
header { border-bottom: 1px solid var(--line); background: var(--card); }
header div { max-width: 78rem; margin: 0 auto; padding: .9rem 1.5rem; display: flex; flex-wrap: wrap; gap: .3rem 1.6rem; align-items: baseline; }
header b { font-size: 1.1rem; margin-right: auto; } header b a { color: inherit; }
main { max-width: 50rem; margin: 0 auto; padding: 1.5rem; }
.wide { max-width: 78rem; display: grid; grid-template-columns: 16rem minmax(0, 1fr); gap: 3rem; }
nav { position: sticky; top: 0; max-height: 100vh; overflow-y: auto; padding: 1.2rem 0; font-size: .92rem; align-self: start; }
nav h2 { font-size: .78rem; letter-spacing: .08em; text-transform: uppercase; color: var(--quiet); margin: 1.2rem 0 .3rem; border: 0; padding: 0; }
nav ul { list-style: none; margin: 0; padding: 0; } nav li { padding: .12rem 0; } .op { display: flex; gap: .6rem; align-items: baseline; } nav .op { color: inherit; }
h1 { font-size: 1.9rem; line-height: 1.25; margin: .8rem 0 .6rem; } h2 { font-size: 1.4rem; margin: 3rem 0 1rem; }
h3 { font-size: 1.15rem; margin: 0 0 .5rem; } h4 { font-size: .95rem; margin: 1.4rem 0 .3rem; }
a { color: var(--accent); text-decoration: none; } a:hover { text-decoration: underline; } p { margin: .5rem 0; }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; font-size: .86rem; }
code { background: var(--code); padding: .12em .35em; border-radius: 4px; overflow-wrap: anywhere; }
pre { background: var(--code); border: 1px solid var(--line); border-radius: 8px; padding: .8rem 1rem; overflow-x: auto; line-height: 1.5; }
section, .card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1.3rem 1.5rem; margin: 0 0 1.5rem; }
section:target { border-color: var(--accent); box-shadow: 0 0 0 1px var(--accent); }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(14rem, 1fr)); gap: 1rem; margin: 1.5rem 0; }
.card { display: block; margin: 0; color: inherit; } .card b { color: var(--accent); display: block; } a.card:hover { border-color: var(--accent); text-decoration: none; }
.path { margin: 0 0 .8rem; overflow-wrap: anywhere; } .path code { background: none; padding: 0; font-size: .95rem; }
.method { font: 700 .68rem/1.7 ui-monospace, monospace; min-width: 4.2em; text-align: center; flex: none; display: inline-block; border-radius: 4px; padding: 0 .4em; color: var(--tone); background: color-mix(in srgb, var(--tone) 14%, transparent); }
.GET { --tone: var(--get); } .POST { --tone: var(--post); } .PATCH { --tone: var(--patch); } .DELETE { --tone: var(--delete); }
.quiet { color: var(--quiet); } .small { font-size: .9rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .92rem; } td, th { text-align: left; vertical-align: top; padding: .45rem 1rem .45rem 0; border-bottom: 1px solid var(--line); }
th { font-weight: 600; color: var(--quiet); } tr:last-child td { border-bottom: 0; } td:first-child { white-space: nowrap; } td:last-child { padding-right: 0; }
.fields td:first-child { width: 12rem; } .fields td:nth-child(2) { width: 11rem; }
details { border-top: 1px solid var(--line); margin-top: .9rem; padding-top: .6rem; } summary { cursor: pointer; font-weight: 600; font-size: .95rem; } details details { margin-left: 1rem; }
.columns { columns: 3 14rem; list-style: none; margin: .6rem 0 0; padding: 0; } .columns li { break-inside: avoid; padding: .12rem 0; }
.chips { display: flex; flex-wrap: wrap; gap: .3rem .5rem; margin: .6rem 0 0; padding: 0; list-style: none; }
@media (max-width: 60rem) { .wide { display: block; } nav { position: static; max-height: none; columns: 2; } nav div { break-inside: avoid; } }
@media (max-width: 36rem) { nav { columns: 1; } td:first-child { white-space: normal; } main { padding: 1rem; } section { padding: 1rem; } .fields td:first-child, .fields td:nth-child(2) { width: auto; } }
`
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')
const POLICY = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`

function html(status: number, body: string): Shown {
  return { status, headers: { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': POLICY }, body }
}

function layout(title: string, body: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title><style>${STYLE}</style></head>
<body><header><div><b><a href="/">Storekeeper</a></b><a href="/docs">API</a><a href="/errors">Errors</a><a href="/openapi.json">OpenAPI</a></div></header>${body}</body></html>`
}

const FRONT = layout(
  'Storekeeper',
  `<main><h1>Storekeeper</h1><p>This service issues API keys for stores and keeps the billing addresses of their users.</p>
<div class="cards"><a class="card" href="/docs"><b>The API</b>Every operation, with an example to send.</a>
<a class="card" href="/errors"><b>Errors</b>What each one means, and the way out.</a>
<a class="card" href="/openapi.json"><b>OpenAPI 3.1</b>The same for your tools.</a></div>
<h4>Try it</h4><p>In the folder the service was started from:</p><pre>npm run quickstart</pre>
<p>It signs up, makes a store, creates a key and a billing address, and prints each request as a <code>curl</code> line with its answer.</p></main>`,
)

function errorsPage(): string {
  const rows = Object.entries(ERRORS).map(
    ([code, { status, title }]) =>
      `<tr><td><a href="/errors/${code}"><code>${code}</code></a></td><td>${status}</td><td>${escapeHtml(title)}</td></tr>`,
  )
  return layout(
    'Errors · Storekeeper',
    `<main><h1>Errors</h1><p>Every failure is <code>application/problem+json</code>. Its <code>code</code> is one of these and never changes its meaning; the wording may.</p>
<div class="card scroll"><table><tr><th>code</th><th>status</th><th>meaning</th></tr>${rows.join('')}</table></div></main>`,
  )
}

function errorPage(code: ErrorCode, routes: Route[]): string {
  const { status, title, help } = ERRORS[code]
  const where = routes.filter((route) => errorsOf(route).includes(code))
  const instance = where[0] ? pathOf(where[0]) : '/v1/…'
  const { body } = renderProblem(new Failure(code, EXAMPLE_FACTS[code]), 'req_…', instance)
  return layout(
    `${code} · Storekeeper`,
    `<main><p class="small"><a href="/errors">← All errors</a></p><h1>${escapeHtml(title)}</h1><p><code>${code}</code> <span class="quiet">status ${status}</span></p><p>${escapeHtml(help)}</p>
<h4>What it looks like</h4><pre>${escapeHtml(JSON.stringify(JSON.parse(body), null, 2))}</pre>${where.length === 0 ? '' : `<h4>Where you may meet it</h4><ul class="columns small">${where.map((route) => `<li>${linkTo(route)}</li>`).join('')}</ul>`}</main>`,
  )
}

/** What stands in a problem beside the usual members. */
const EXAMPLE_FACTS: Partial<Record<ErrorCode, FailureDetails>> = {
  invalid_input: {
    members: {
      errors: [{ pointer: '#/name', code: 'required', detail: 'This member is required.' }],
    },
  },
  insufficient_permission: { required: ['MANAGE_KEYS'] },
  cannot_grant: { members: { permissions: ['MANAGE_STORE'] } },
  secret_no_longer_available: { members: { resource: { id: 'key_…' } } },
}

function docsPage(routes: Route[]): string {
  const tags = [...new Set(routes.map(tagOf))]
  const ofTag = (tag: string) => routes.filter((route) => tagOf(route) === tag)
  const contents = tags.map(
    (tag) =>
      `<div><h2>${tag}</h2><ul>${ofTag(tag)
        .map((route) => `<li>${linkTo(route)}</li>`)
        .join('')}</ul></div>`,
  )
  const bodies = tags.map((tag) => `<h2>${tag}</h2>${ofTag(tag).map(operationDocs).join('')}`)
  return layout(
    'API · Storekeeper',
    `<main class="wide"><nav>${contents.join('')}</nav><div>${INTRO}${bodies.join('')}</div></main>`,
  )
}

const INTRO = `<h1>Storekeeper API</h1><p>Bodies are JSON. Send your credential as <code>Authorization: Bearer …</code>: a session token from <a href="#postAuthSignUp">signing up</a> or <a href="#postAuthSignIn">in</a>, an API key, or an access token of the identity provider this service trusts.</p>
<p>Every POST with a credential takes an <code>Idempotency-Key</code> of your choice, which makes it safe to send again. Failures are <a href="/errors">one table</a>; the whole API is also <a href="/openapi.json">OpenAPI 3.1</a>.</p>
<p>The examples use <code>$STOREKEEPER</code> for the address of this service, <code>$TOKEN</code> for your credential and <code>$STORE_ID</code> for the id of a store.</p>`

function linkTo(route: Route): string {
  return `<a class="op" href="/docs#${operationId(route)}">${badge(route)}<span>${escapeHtml(route.summary)}</span></a>`
}

function badge({ method }: Route): string {
  return `<span class="method ${method}">${method === 'DELETE' ? 'DEL' : method}</span>`
}

function pathOf(route: Route): string {
  return route.path.replace(/:(\w+)/g, '{$1}')
}

function operationDocs(route: Route): string {
  const [status, schema] = route.returns
  const errors = errorsOf(route).toSorted((a, b) => ERRORS[a].status - ERRORS[b].status)
  return `<section id="${operationId(route)}"><h3>${escapeHtml(route.summary)}</h3>
<p class="path">${badge(route)} <code>${pathOf(route)}</code></p>
<p>${inlineCode(route.description)}</p><p class="quiet">${inlineCode(accessText(route))}</p>
${route.query ? `<h4>Query</h4>${fields(route.query)}` : ''}${route.body ? `<h4>Body</h4>${fields(route.body)}` : ''}
<h4>Example</h4><pre>${escapeHtml(curl(route))}</pre>
${schema ? `<details><summary>Answer <code>${status}</code></summary>${fields(schema)}</details>` : `<h4>Answer <code>${status}</code>, ${route.answer === 'events' ? 'a stream' : 'without a body'}</h4>`}
<details><summary>Errors</summary><ul class="chips small">${errors
    .map((code) => `<li><a href="/errors/${code}"><code>${ERRORS[code].status} ${code}</code></a></li>`)
    .join('')}</ul></details></section>`
}

type Shape = {
  title?: string
  properties?: Record<string, Shape>
  required?: string[]
  type?: string | string[]
  enum?: string[]
  description?: string
  items?: Shape
  format?: string
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
}

/** A table of the members; what a member holds in turn can be opened below it. */
function fields(schema: object): string {
  const { properties = {}, required = [] } = schema as Shape
  const rows = Object.entries(properties).map(
    ([name, shape]) =>
      `<tr><td><code>${name}</code>${required.includes(name) ? '' : ' <span class="quiet">optional</span>'}</td><td class="quiet">${escapeHtml(kindOf(shape))}</td><td>${inlineCode([shape.description, boundsOf(shape)].filter(Boolean).join(' '))}</td></tr>`,
  )
  const inner = Object.entries(properties)
    .map(([name, shape]) => [name, shape.items ?? shape] as const)
    .filter(([, shape]) => shape.properties)
    .map(([name, shape]) => `<details><summary>In <code>${name}</code></summary>${fields(shape)}</details>`)
  return rows.length === 0
    ? ''
    : `<div class="scroll"><table class="fields">${rows.join('')}</table></div>${inner.join('')}`
}

/** `name` is 1 to 100 characters: what the schema says in numbers, in words. */
function boundsOf({ minLength = 0, maxLength, minimum, maximum, enum: words, items, description = '' }: Shape): string {
  if (words || items || description.includes('characters')) return ''
  if (maximum !== undefined) return `${minimum ?? 0} to ${maximum.toLocaleString('en')}.`
  if (maxLength === undefined) return ''
  return minLength > 0 ? `${minLength} to ${maxLength} characters.` : `At most ${maxLength} characters.`
}

const KINDS: Record<string, string> = { array: 'list', integer: 'whole number', boolean: 'true or false' }

function kindOf(shape: Shape): string {
  if (shape.enum) return shape.enum.filter((word) => word !== null).join(' | ')
  const [kind = 'any', ...rest] = [shape.type ?? 'any']
    .flat()
    .map((name) => (shape.format === 'date-time' && name === 'string' ? 'time' : (KINDS[name] ?? name)))
  const whole = shape.items ? `${kind} of ${shape.items.title ?? kindOf(shape.items)}` : (shape.title ?? kind)
  return [whole, ...rest].join(' or ')
}

/** `{storeId}` would be a pattern to curl and nothing to a shell, so it stands there as `$STORE_ID`. */
function curl(route: Route): string {
  const path = route.path.replace(/:(\w+)/g, (_, name: string) => `$${name.replace(/[A-Z]/g, '_$&').toUpperCase()}`)
  const query = route.example?.query ? `?${route.example.query}` : ''
  const lines = [`curl -X ${route.method} "$STOREKEEPER${path}${query}"`]
  if (route.needs !== 'public') lines.push(`-H "Authorization: Bearer $TOKEN"`)
  if (route.example?.body && route.form)
    lines.push(...Object.entries(route.example.body).map(([name, value]) => `--data-urlencode '${name}=${value}'`))
  else if (route.example?.body) lines.push(`-H 'Content-Type: application/json'`, `-d '${pretty(route.example.body)}'`)
  return lines.join(' \\\n  ')
}

/** Indented, with a list of words on one line. */
function pretty(body: unknown): string {
  return JSON.stringify(body, null, 2)
    .replace(/\[\n\s+([^[\]{}]*?)\n\s+\]/g, (_, words: string) => `[${words.replace(/\n\s+/g, ' ')}]`)
    .replaceAll('\n', '\n  ')
}

function escapeHtml(plain: string): string {
  return plain.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}

/** Text with `code` in it. */
function inlineCode(plain: string): string {
  return escapeHtml(plain).replace(/`([^`]+)`/g, '<code>$1</code>')
}
