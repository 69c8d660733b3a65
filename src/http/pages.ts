// What is not part of the API: health, metrics, the OpenAPI document, and pages for people. The pages are made from the
// same rows and tables as everything else, need no script, and load nothing from anywhere. (A ready-made viewer was
// tried and left: 4 MB of script held in memory, and calls to hosts outside.)

import { createHash } from 'node:crypto'
import type { Database } from '../db/db.ts'
import { sql } from '../db/db.ts'
import { ERRORS, type ErrorCode, fail } from '../errors.ts'
import type { Route } from '../route.ts'
import type { Metrics } from './metrics.ts'
import { errorsOf, openapi, operationId, tagOf, whoMay } from './openapi.ts'

export type Page = {
  path: string
  show(params: Record<string, string>): Promise<{ status: number; headers: Record<string, string>; body: string }>
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
      Object.hasOwn(ERRORS, code ?? '') ? html(200, errorPage(code as ErrorCode)) : fail('not_found'),
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

type Shown = Awaited<ReturnType<Page['show']>>

function page(path: string, show: (params: Record<string, string>) => Shown | Promise<Shown>): Page {
  return { path, show: async (params) => show(params) }
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
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent); --soft: color-mix(in srgb, currentColor 6%, transparent); --accent: #2f6f4f; }
@media (prefers-color-scheme: dark) { :root { --accent: #7cc6a0; } }
* { box-sizing: border-box; }
body { font: 16px/1.55 system-ui, sans-serif; margin: 0 auto; padding: 1.5rem; max-width: 68rem; }
h1 { font-size: 1.6rem; margin: .2rem 0 1rem; } h2 { margin: 2.5rem 0 .5rem; border-bottom: 1px solid var(--line); padding-bottom: .3rem; }
h3 { margin: 2rem 0 .3rem; font-size: 1.05rem; } a { color: var(--accent); }
code, pre { font: .87rem/1.5 ui-monospace, monospace; } :not(pre) > code { background: var(--soft); padding: .1em .3em; border-radius: 4px; overflow-wrap: anywhere; }
pre { background: var(--soft); border: 1px solid var(--line); border-radius: 8px; padding: .8rem 1rem; overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .93rem; } td, th { text-align: left; vertical-align: top; padding: .35rem .8rem .35rem 0; border-bottom: 1px solid var(--line); }
.method { color: var(--accent); font-weight: 700; } .quiet { opacity: .72; } nav ul { list-style: none; padding: 0; columns: 2; } nav li { break-inside: avoid; padding: .1rem 0; }
@media (max-width: 44rem) { nav ul { columns: 1; } }
`
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')
const POLICY = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`

function html(status: number, body: string): Shown {
  return { status, headers: { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': POLICY }, body }
}

function frame(title: string, body: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><style>${STYLE}</style></head><body>${body}</body></html>`
}

const FRONT = frame(
  'Storekeeper',
  `<h1>Storekeeper</h1><p>This service issues API keys for stores and keeps the billing addresses of their users.</p>
<ul><li><a href="/docs">The API, operation by operation</a></li><li><a href="/openapi.json">The same as OpenAPI 3.1</a></li><li><a href="/errors">Every error and the way out</a></li></ul>
<p>Try it from the folder it was started in: <code>npm run quickstart</code></p>`,
)

function errorsPage(): string {
  const rows = Object.entries(ERRORS).map(
    ([code, { status, title }]) =>
      `<tr><td><a href="/errors/${code}"><code>${code}</code></a></td><td>${status}</td><td>${text(title)}</td></tr>`,
  )
  return frame(
    'Errors',
    `<p><a href="/docs">Storekeeper API</a></p><h1>Errors</h1><table><tr><th>code</th><th>status</th><th>meaning</th></tr>${rows.join('')}</table>`,
  )
}

function errorPage(code: ErrorCode): string {
  const { status, title, help } = ERRORS[code]
  return frame(
    code,
    `<p><a href="/errors">All errors</a></p><h1>${text(title)}</h1><p><code>${code}</code> · status ${status}</p><p>${text(help)}</p>`,
  )
}

function docsPage(routes: Route[]): string {
  const tags = [...new Set(routes.map(tagOf))]
  const ofTag = (tag: string) => routes.filter((route) => tagOf(route) === tag)
  const contents = tags.map(
    (tag) =>
      `<h3>${tag}</h3><ul>${ofTag(tag)
        .map((route) => `<li><a href="#${operationId(route)}">${text(route.summary)}</a></li>`)
        .join('')}</ul>`,
  )
  const bodies = tags.map((tag) => `<h2>${tag}</h2>${ofTag(tag).map(operationDocs).join('')}`)
  return frame(
    'Storekeeper API',
    `<h1>Storekeeper API</h1><p>Bodies are JSON. Send your credential as <code>Authorization: Bearer …</code>. Every POST takes an <code>Idempotency-Key</code>, which makes it safe to send again. Errors are <a href="/errors">one table</a>; the whole API is also <a href="/openapi.json">OpenAPI 3.1</a>.</p><nav>${contents.join('')}</nav>${bodies.join('')}`,
  )
}

function operationDocs(route: Route): string {
  const path = route.path.replace(/:(\w+)/g, '{$1}')
  const [status, schema] = route.returns
  return `<h3 id="${operationId(route)}">${text(route.summary)}</h3>
<p><code><span class="method">${route.method}</span> ${path}</code></p>
<p>${prose(route.description)} <span class="quiet">${prose(whoMay(route))}</span></p>
${route.query ? `<p>Query</p>${fields(route.query)}` : ''}
${route.body ? `<p>Body</p>${fields(route.body)}` : ''}
<pre>${text(curl(route, path))}</pre>
<p>Answers <code>${status}</code>${schema ? ' with' : '.'}</p>${schema ? fields(schema) : ''}
<p class="quiet">Errors: ${errorsOf(route)
    .map((code) => `<a href="/errors/${code}">${code}</a>`)
    .join(', ')}</p>`
}

type Shape = {
  properties?: Record<string, Shape>
  required?: string[]
  type?: string | string[]
  enum?: string[]
  description?: string
  items?: Shape
}

function fields(schema: object): string {
  const { properties = {}, required = [] } = schema as Shape
  const rows = Object.entries(properties).map(
    ([name, shape]) =>
      `<tr><td><code>${name}</code>${required.includes(name) ? '' : ' <span class="quiet">optional</span>'}</td><td class="quiet">${text(kindOf(shape))}</td><td>${prose(shape.description ?? '')}</td></tr>`,
  )
  return rows.length === 0 ? '' : `<table>${rows.join('')}</table>`
}

function kindOf(shape: Shape): string {
  if (shape.enum) return shape.enum.filter((word) => word !== null).join(' | ')
  const kind = [shape.type ?? 'any'].flat().join(' or ')
  return shape.items ? `${kind} of ${kindOf(shape.items)}` : kind
}

export function curl(route: Route, path: string): string {
  const query = route.example?.query ? `?${route.example.query}` : ''
  const lines = [`curl -X ${route.method} "$STOREKEEPER${path}${query}"`]
  if (route.needs !== 'nothing') lines.push(`-H "Authorization: Bearer $TOKEN"`)
  if (route.example?.body)
    lines.push(`-H 'Content-Type: application/json'`, `-d '${JSON.stringify(route.example.body)}'`)
  return lines.join(' \\\n  ')
}

function text(plain: string): string {
  return plain.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}

/** Text with `code` in it. */
function prose(plain: string): string {
  return text(plain).replace(/`([^`]+)`/g, '<code>$1</code>')
}
