// What is served beside the API: health, metrics, the OpenAPI document, and pages for people. The pages are made from the
// same rows and tables as everything else, and from the documents in docs/. They need no script, and load nothing from
// anywhere. (A ready-made viewer was tried and left: 4 MB of script held in memory, and calls to hosts outside.) The pages
// where people sign in and work are the dashboard's.

import { ERRORS, type ErrorCode, fail } from '../../core/errors.ts'
import type { Route } from '../../core/route.ts'
import type { Database } from '../../db/db.ts'
import type { Metrics } from '../metrics.ts'
import { openapi } from '../openapi.ts'
import { DASHBOARD_PATHS, type Dashboard, readDashboard } from './dashboard.ts'
import { docsHome, documentPage, searchPage } from './docs.ts'
import { errorPage, errorsPage, faultPage } from './errors.ts'
import { FAULTS } from './faults.ts'
import { FAVICON } from './favicon.ts'
import { FRONT_PAGE, NOT_BUILT_PAGE } from './front.ts'
import { liveness, readiness } from './health.ts'
import { html, type Rendered } from './layout.ts'
import { readDocuments } from './markdown.ts'
import { type MetricsAccess, metricsPage, type PageRequest } from './metrics.ts'
import { referencePage } from './reference.ts'
import { buildIndex } from './search.ts'

export type HtmlPage = {
  path: string
  /** Health is asked for often, and answered always; everything else counts against its address. */
  unlimited: boolean
  render(params: Record<string, string>, request: PageRequest): Promise<Rendered>
}

/** Its files are read once in a process, however many services it starts. */
const builtDashboard = once(() => readDashboard())

export function buildPages(
  routes: Route[],
  db: Database,
  metrics: Pick<Metrics, 'read'>,
  access: MetricsAccess,
  draining: () => boolean,
): HtmlPage[] {
  const document = once(() => JSON.stringify(openapi(routes)))
  const reference = once(() => referencePage(routes))
  const docs = onceResolved(async () => {
    const documents = await readDocuments()
    return { documents, index: buildIndex(documents.values(), routes) }
  })
  const showDocument = async (url: string) => {
    const { documents } = await docs()
    return documentPage(documents, documents.get(url) ?? fail('not_found'))
  }
  return [
    ...dashboardPages(builtDashboard()),
    page('/docs', async (_, { query }) => {
      const asked = query.get('q')?.trim()
      const { documents, index } = await docs()
      return asked ? searchPage(index, asked) : docsHome(documents)
    }),
    page('/docs/reference', () => html(200, reference(), 'with search')),
    page('/docs/:name', ({ name }) => showDocument(`/docs/${name}`)),
    page('/docs/:folder/:name', ({ folder, name }) => showDocument(`/docs/${folder}/${name}`)),
    page('/favicon.ico', () => ({
      status: 200,
      headers: { 'content-type': 'image/x-icon', 'cache-control': 'public, max-age=86400' },
      body: FAVICON,
    })),
    page('/errors', () => html(200, errorsPage(), 'with search')),
    page('/errors/:code', ({ code = '' }) => {
      if (Object.hasOwn(ERRORS, code)) return html(200, errorPage(code as ErrorCode, routes))
      return Object.hasOwn(FAULTS, code) ? html(200, faultPage(code)) : fail('not_found')
    }),
    page('/openapi.json', () => ({
      status: 200,
      headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-cache' },
      body: document(),
    })),
    page('/livez', liveness, true),
    page('/readyz', () => readiness(db, draining()), true),
    // Without a token only clients on this machine are answered, as often as they ask.
    page('/metrics', (_, request) => metricsPage(metrics, access, request), access.token === null),
  ]
}

/** Without a build of the dashboard, "/" leads to the docs, and its other pages say how to build it. */
export function dashboardPages(dashboard: Dashboard | null): HtmlPage[] {
  if (!dashboard)
    return DASHBOARD_PATHS.map((path) =>
      page(path, () => (path === '/' ? html(200, FRONT_PAGE) : html(503, NOT_BUILT_PAGE))),
    )
  return [
    ...DASHBOARD_PATHS.map((path) => page(path, dashboard.page)),
    // Not counted: a page without one of its scripts is blank. They are in memory, and browsers keep them for ever.
    page('/assets/:name', ({ name = '' }, request) => dashboard.asset(name, request), true),
  ]
}

/** Made when it is first asked for: a start does not wait for what nobody may read. */
function once<T>(make: () => T): () => T {
  let made: T | undefined
  return () => (made ??= make())
}

/** The same for what takes a while; after a failure it is tried again. */
function onceResolved<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= make().catch((error) => {
      made = undefined
      throw error
    })
    return made
  }
}

type Render = (params: Record<string, string>, request: PageRequest) => Rendered | Promise<Rendered>

function page(path: string, render: Render, unlimited = false): HtmlPage {
  return { path, unlimited, render: async (params, request) => render(params, request) }
}
