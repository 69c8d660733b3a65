// What is served beside the API: health, metrics, the OpenAPI document, and pages for people. The pages are made from the
// same rows and tables as everything else, need no script, and load nothing from anywhere. (A ready-made viewer was
// tried and left: 4 MB of script held in memory, and calls to hosts outside.)

import { ERRORS, type ErrorCode, fail } from '../../core/errors.ts'
import type { Route } from '../../core/route.ts'
import type { Database } from '../../db/db.ts'
import type { Metrics } from '../metrics.ts'
import { openapi } from '../openapi.ts'
import { docsPage } from './docs.ts'
import { errorPage, errorsPage } from './errors.ts'
import { FRONT_PAGE } from './front.ts'
import { liveness, readiness } from './health.ts'
import { html, type Rendered } from './layout.ts'

export type HtmlPage = { path: string; render(params: Record<string, string>): Promise<Rendered> }

export function buildPages(routes: Route[], db: Database, metrics: Metrics, draining: () => boolean): HtmlPage[] {
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
    page('/livez', liveness),
    page('/readyz', () => readiness(db, draining())),
    page('/metrics', async () => {
      const { type, text } = await metrics.read()
      return { status: 200, headers: { 'content-type': type }, body: text }
    }),
  ]
}

/** Made when it is first asked for: a start does not wait for what nobody may read. */
function once<T>(make: () => T): () => T {
  let made: T | undefined
  return () => (made ??= make())
}

function page(path: string, render: (params: Record<string, string>) => Rendered | Promise<Rendered>): HtmlPage {
  return { path, render: async (params) => render(params) }
}
