// What all pages for people share: the frame with its style sheet, the policy that allows this style sheet alone, and
// small pieces of HTML.

import { createHash } from 'node:crypto'
import type { Route } from '../../core/route.ts'
import { STYLE } from './style.ts'

export type Rendered = { status: number; headers: Record<string, string>; body: string | Buffer }

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')
const policyWith = (forms: "'none'" | "'self'") =>
  `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; frame-ancestors 'none'; base-uri 'none'; img-src 'self'; form-action ${forms}`
const POLICIES = {
  plain: policyWith("'none'"),
  'with search': policyWith("'self'"),
}

/** Docs are the same for everybody until the service is upgraded. */
const CACHED = 'public, max-age=300'

export function html(status: number, body: string, kind: keyof typeof POLICIES = 'plain'): Rendered & { body: string } {
  const headers: Record<string, string> = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': POLICIES[kind],
  }
  if (status === 200) headers['cache-control'] = CACHED
  return { status, headers, body }
}

export function layout(title: string, body: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title><style>${STYLE}</style></head>
<body><header><div><b><a href="/">Storekeeper</a></b><a href="/docs">Docs</a><a href="/docs/reference">API</a><a href="/errors">Errors</a><a href="/openapi.json">OpenAPI</a></div></header>${body}</body></html>`
}

export function linkTo(route: Route): string {
  return `<a class="op" href="/docs/reference#${route.id}">${badge(route)}<span>${escapeHtml(route.summary)}</span></a>`
}

export function badge({ method }: Route): string {
  return `<span class="method ${method}">${method === 'DELETE' ? 'DEL' : method}</span>`
}

/** `/stores/:storeId` as OpenAPI and people write it: `/stores/{storeId}`. */
export function pathTemplate(route: Route): string {
  return route.path.replace(/:(\w+)/g, '{$1}')
}

export function escapeHtml(plain: string): string {
  return plain.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}

/** Escapes text and marks up its `code`. */
export function inlineCode(plain: string): string {
  return escapeHtml(plain).replace(/`([^`]+)`/g, '<code>$1</code>')
}

/** On a phone a long name breaks after an underscore. */
export function wrappable(name: string): string {
  return escapeHtml(name).replaceAll('_', '_<wbr>')
}
