// The dashboard, built into dist/dashboard (packages/dashboard). Its files have names that change with their content, so
// they are kept for ever; its one HTML page is made fresh for each request, with a nonce that its policy names.

import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { fail } from '../../core/errors.ts'
import type { Rendered } from './layout.ts'
import type { PageRequest } from './metrics.ts'

/** The same folder from src/ and from dist/. */
const FOLDER = join(import.meta.dirname, '../../../dist/dashboard')
const NONCE_PLACEHOLDER = '__NONCE__'

/** The addresses of its pages; the script in them shows the page. */
export const DASHBOARD_PATHS = [
  '/',
  '/sign-in',
  '/signed-in',
  '/sign-up',
  '/reset',
  '/confirm',
  '/invitation',
  '/found-a-key',
  '/account',
  '/account/:page',
  '/stores',
  '/stores/:storeId',
  '/stores/:storeId/:page',
  '/stores/:storeId/:page/:id',
  '/stores/:storeId/:page/:id/:more',
  '/stores/:storeId/:page/:id/:more/:part',
  '/stores/:storeId/:page/:id/:more/:part/:tab',
]

const TYPES: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

type Asset = { type: string; encodings: Map<string, Buffer> }
export type Dashboard = { page(): Rendered; asset(name: string, request: PageRequest): Rendered }

/** Null where it was not built. It is read into memory once, compressed as it is sent: some 1 MB. */
export function readDashboard(folder = FOLDER): Dashboard | null {
  if (!existsSync(join(folder, 'index.html'))) return null
  const index = readFileSync(join(folder, 'index.html'), 'utf8')
  const assets = readAssets(join(folder, 'assets'))
  return {
    page() {
      const nonce = randomBytes(16).toString('base64')
      return {
        status: 200,
        headers: {
          'content-type': 'text/html; charset=utf-8',
          'cache-control': 'no-store',
          // No page of another origin that opened this one, or was opened by it, can reach it.
          'cross-origin-opener-policy': 'same-origin',
          'content-security-policy': `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'`,
        },
        body: index.replaceAll(NONCE_PLACEHOLDER, nonce),
      }
    },
    asset(name, { headers: { 'accept-encoding': accepted = '' } }) {
      const { type, encodings } = assets.get(name) ?? fail('not_found')
      const encoding = ['br', 'gzip'].find((coding) => new RegExp(`\\b${coding}\\b`).test(String(accepted)))
      return {
        status: 200,
        headers: {
          'content-type': type,
          'cache-control': 'public, max-age=31536000, immutable',
          vary: 'accept-encoding',
          ...(encoding ? { 'content-encoding': encoding } : {}),
        },
        body: encodings.get(encoding ?? 'identity') as Buffer,
      }
    },
  }
}

function readAssets(folder: string): Map<string, Asset> {
  const names = readdirSync(folder).filter((name) => extname(name) in TYPES)
  return new Map(
    names.map((name) => {
      const read = (extension: string) => readFileSync(join(folder, `${name}${extension}`))
      const encodings = new Map([
        ['identity', read('')],
        ['br', read('.br')],
        ['gzip', read('.gz')],
      ])
      return [name, { type: TYPES[extname(name)] as string, encodings }]
    }),
  )
}
