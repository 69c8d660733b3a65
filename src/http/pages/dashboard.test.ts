// The dashboard as it is served, from a folder of a build, and what stands in its place without one. What its pages do is
// tested in a browser (packages/dashboard/tests).

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { DASHBOARD_PATHS, readDashboard } from './dashboard.ts'
import type { PageRequest } from './metrics.ts'
import { dashboardPages } from './pages.ts'

const asked = (headers: Record<string, string> = {}) =>
  ({ headers, query: new URLSearchParams(), ip: '127.0.0.1' }) as unknown as PageRequest

test('each page of a built dashboard has a policy with a nonce of its own, and its files are kept for ever', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'dashboard-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  mkdirSync(join(folder, 'assets'))
  writeFileSync(join(folder, 'index.html'), '<meta property="csp-nonce" nonce="__NONCE__">')
  for (const extension of ['', '.br', '.gz']) writeFileSync(join(folder, `assets/a-1.js${extension}`), `as${extension}`)
  const pages = dashboardPages(readDashboard(folder))
  expect(pages.map(({ path }) => path)).toEqual([...DASHBOARD_PATHS, '/assets/:name'])
  // Pages are limited per address, their files are not: without one of them a page is blank.
  expect(pages.filter(({ unlimited }) => unlimited).map(({ path }) => path)).toEqual(['/assets/:name'])

  const nonces = new Set<string>()
  for (const page of pages.slice(0, -1)) {
    const { status, headers, body } = await page.render({}, asked())
    const nonce = /nonce="([^"]+)"/.exec(String(body))?.[1] ?? ''
    expect([status, headers['cache-control']]).toEqual([200, 'no-store'])
    expect(headers['content-security-policy']).toContain(`style-src 'self' 'nonce-${nonce}';`)
    expect(headers['content-security-policy']).not.toMatch(/unsafe|\*|https?:/)
    expect(headers['cross-origin-opener-policy']).toBe('same-origin')
    nonces.add(nonce)
  }
  expect(nonces.size).toBe(DASHBOARD_PATHS.length)

  const assets = pages.at(-1)
  const get = (name: string, accepted: string) => assets?.render({ name }, asked({ 'accept-encoding': accepted }))
  expect(await get('a-1.js', 'gzip, deflate, br')).toMatchObject({
    headers: { 'content-encoding': 'br', 'cache-control': 'public, max-age=31536000, immutable' },
    body: Buffer.from('as.br'),
  })
  expect(await get('a-1.js', 'identity')).toMatchObject({ body: Buffer.from('as') })
  for (const name of ['a-1.js.br', '../index.html', 'b.js']) await expect(get(name, 'br')).rejects.toThrow()
})

test('without a build, "/" leads to the docs and every other page says how to build it', async () => {
  const pages = dashboardPages(readDashboard('/nowhere'))
  expect(pages.map(({ path }) => path)).toEqual(DASHBOARD_PATHS)
  for (const page of pages) {
    const { status, headers, body } = await page.render({}, asked())
    expect([page.path, status]).toEqual([page.path, page.path === '/' ? 200 : 503])
    expect(body).toContain(page.path === '/' ? 'href="/docs"' : '<pre>npm ci</pre>')
    expect(headers['content-security-policy']).not.toContain('script-src')
  }
})
