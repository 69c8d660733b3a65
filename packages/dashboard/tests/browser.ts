// Pages in a real Chromium, at the real service. Whatever a test does, there must be no error in the console, no request to
// another host and nothing that the page's policy forbids: that is looked at when the test is over.

import { readFileSync } from 'node:fs'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import type { Person, Shop } from '../../../tests/shop.ts'
import { CHROMIUM, CHROMIUM_ARGS } from './chromium.ts'

/** A test in the browser. Without a Chromium it is skipped by name; in CI it fails, so that nothing is skipped unseen. */
export const browserTest = CHROMIUM || process.env.CI ? test : test.skip

let browser: Promise<Browser> | undefined
function launch(): Promise<Browser> {
  if (!CHROMIUM) throw new Error('No Chromium was found. Install one, or name it in CHROMIUM_PATH.')
  browser ??= chromium.launch({ executablePath: CHROMIUM, args: CHROMIUM_ARGS })
  return browser
}
afterAll(async () => {
  await (await browser)?.close()
  browser = undefined
})

/** What a page may not do. A test that wants one of these, say a refused request, takes it out of the list again. */
type Faults = string[]
/** Takes out what the console says of requests that were refused or cut off, where that is what is tested. */
export function forgetRefusals(faults: Faults): void {
  const others = faults.filter((fault) => !/Failed to load resource/.test(fault))
  faults.splice(0, faults.length, ...others)
}

export type Opened = { page: Page; context: BrowserContext; faults: Faults }

/** A new window at an address of the shop's service, signed in as the person, or as nobody. */
export async function openBrowser(
  { api }: Shop,
  path: string,
  { as, ...options }: BrowserContextOptions & { as?: Person | null } = {},
): Promise<Opened> {
  const context = await (await launch()).newContext({
    baseURL: api.url,
    viewport: { width: 1280, height: 800 },
    ...options,
  })
  // How long a busy machine takes is never what is tested.
  context.setDefaultTimeout(100_000)
  onTestFinished(() => context.close())
  if (as) await signIn(context, api.url, as)
  const faults: Faults = []
  await context.exposeFunction('onPolicyViolation', (what: string) => void faults.push(`policy: ${what}`))
  await context.addInitScript(
    `addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
       onPolicyViolation(violatedDirective + ' ' + blockedURI))`,
  )
  context.on('page', (page) => watch(page, api.url, faults))
  onTestFinished(() => expect(faults).toEqual([]))
  const page = await context.newPage()
  await page.goto(path)
  return { page, context, faults }
}

/** As the service sets it, without the cost of a password. */
export async function signIn(context: BrowserContext, url: string, { token }: Pick<Person, 'token'>): Promise<void> {
  const { hostname } = new URL(url)
  await context.addCookies([
    {
      name: '__Host-storekeeper',
      value: token,
      domain: hostname,
      path: '/',
      httpOnly: true,
      secure: true,
      sameSite: 'Lax',
    },
  ])
}

function watch(page: Page, url: string, faults: Faults): void {
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') faults.push(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`))
  page.on('request', (request) => {
    if (!request.url().startsWith(url) && !/^(data|blob):/.test(request.url())) faults.push(`request: ${request.url()}`)
  })
}

const AXE = import.meta.resolve('axe-core/axe.min.js')

type Violation = { id: string; nodes: { html: string; failureSummary: string }[] }

/** Faults of WCAG 2.2 AA on the page as it is now. Scripts for the page are text: tests know nothing of a document. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  await page.evaluate(readFileSync(new URL(AXE), 'utf8'))
  const violations = await page.evaluate<Violation[]>(
    `axe.run(document, { runOnly: { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] } })
       .then(({ violations }) => violations)`,
  )
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  )
}

/** Everything that a page keeps or shows: its DOM, its storage, its address and title. */
export function everythingIn(page: Page): Promise<string> {
  return page.evaluate<string>(
    `[document.documentElement.outerHTML, JSON.stringify({ ...localStorage }), JSON.stringify({ ...sessionStorage }),
      location.href, document.title].join('\\n')`,
  )
}
