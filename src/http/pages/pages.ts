// What is served beside the API: health, metrics, the OpenAPI document, and pages for people. The pages are made from the
// same rows and tables as everything else, need no script, and load nothing from anywhere; only where a person signs in or
// follows a link there is a script (account.ts). (A ready-made viewer was
// tried and left: 4 MB of script held in memory, and calls to hosts outside.)

import { ERRORS, type ErrorCode, fail } from '../../core/errors.ts'
import type { Route } from '../../core/route.ts'
import type { Database } from '../../db/db.ts'
import type { Metrics } from '../metrics.ts'
import { openapi } from '../openapi.ts'
import { ACCOUNT_PAGES, type AccountPageName, accountPage, type Offers } from './account.ts'
import { ACCOUNT_SCRIPTS } from './account-scripts.ts'
import { docsPage } from './docs.ts'
import { errorPage, errorsPage } from './errors.ts'
import { FRONT_PAGE } from './front.ts'
import { liveness, readiness } from './health.ts'
import { html, type Rendered } from './layout.ts'
import { type MetricsAccess, metricsPage, type PageRequest } from './metrics.ts'

export type HtmlPage = {
  path: string
  /** Health is asked for often, and answered always; everything else counts against its address. */
  unlimited: boolean
  render(params: Record<string, string>, request: PageRequest): Promise<Rendered>
}

export function buildPages(
  routes: Route[],
  db: Database,
  metrics: Metrics,
  access: MetricsAccess,
  draining: () => boolean,
  offers: Offers,
): HtmlPage[] {
  const document = once(() => JSON.stringify(openapi(routes)))
  const docs = once(() => docsPage(routes))
  return [
    page('/', () => html(200, FRONT_PAGE)),
    page('/docs', () => html(200, docs())),
    page('/errors', () => html(200, errorsPage())),
    page('/errors/:code', ({ code }) =>
      Object.hasOwn(ERRORS, code ?? '') ? html(200, errorPage(code as ErrorCode, routes)) : fail('not_found'),
    ),
    page('/openapi.json', () => ({
      status: 200,
      headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-cache' },
      body: document(),
    })),
    ...(Object.keys(ACCOUNT_PAGES) as AccountPageName[]).flatMap((name) => accountPages(name, offers)),
    page('/livez', liveness, true),
    page('/readyz', () => readiness(db, draining()), true),
    // Without a token only clients on this machine are answered, as often as they ask.
    page('/metrics', (_, request) => metricsPage(metrics, access, request), access.token === null),
  ]
}

function accountPages(name: AccountPageName, offers: Offers): HtmlPage[] {
  return [
    page(`/${name}`, () => accountPage(name, offers)),
    page(`/scripts/${name}.js`, () => ({
      status: 200,
      headers: { 'content-type': 'text/javascript; charset=utf-8', 'cache-control': 'no-cache' },
      body: ACCOUNT_SCRIPTS[name],
    })),
  ]
}

/** Made when it is first asked for: a start does not wait for what nobody may read. */
function once<T>(make: () => T): () => T {
  let made: T | undefined
  return () => (made ??= make())
}

type Render = (params: Record<string, string>, request: PageRequest) => Rendered | Promise<Rendered>

function page(path: string, render: Render, unlimited = false): HtmlPage {
  return { path, unlimited, render: async (params, request) => render(params, request) }
}
