// Pages in a real Chromium, at the real service. Whatever a test does, there must be no error in the console, no request to
// another host and nothing that the page's policy forbids: that is looked at when the test is over.

import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import type { Person, Shop } from '../../../tests/shop.ts'
import { CHROMIUM, CHROMIUM_ARGS, NO_CHROMIUM } from './chromium.ts'
import { type Scheme, schemeByName } from './looks.ts'

/** A test in the browser. Without a Chromium it is skipped by name; in CI it fails, so that nothing is skipped unseen. */
export const browserTest = CHROMIUM || process.env.CI ? test : test.skip

let browser: Promise<Browser> | undefined

/** The one of this worker, started by the first test that needs it; it ends with the worker's process. */
function launch(): Promise<Browser> {
  if (!CHROMIUM) throw new Error(NO_CHROMIUM)
  // Tests of signals, which share the worker, let its process have a SIGHUP: the browser would end.
  browser ??= chromium.launch({ executablePath: CHROMIUM, args: CHROMIUM_ARGS, handleSIGHUP: false })
  return browser
}

/** What a page may not do. */
export type Faults = string[]

/** Takes out what a test has provoked: an answer by its status and request, `404 GET /v1/user/store/*`, or any other fault. */
export function forgive(faults: Faults, ...meant: (string | RegExp)[]): void {
  const isMeant = (fault: string) =>
    meant.some((one) => (typeof one === 'string' ? fault === `answer: ${one}` : one.test(fault)))
  faults.splice(0, faults.length, ...faults.filter((fault) => !isMeant(fault)))
}
export const LOST_ANSWER = /^console: Failed to load resource: net::ERR_/

export type Opened = { page: Page; context: BrowserContext; faults: Faults }

type Wanted = BrowserContextOptions & {
  as?: Person | null
  /** A context that no other test uses: for what stays in one, such as another clock or a script of its own. */
  isOwn?: boolean
}

/** A window at an address of the shop's service, signed in as the person, or as nobody. */
export async function openBrowser(
  { api }: Shop,
  path: string,
  { as, isOwn = false, ...options }: Wanted = {},
): Promise<Opened> {
  const colorScheme = schemeByName(expect.getState().currentTestName ?? '')
  const isUsual = !isOwn && Object.keys(options).length === 0 && isShared(api.url)
  const { context, faults } = isUsual
    ? await takeKept(api.url, colorScheme)
    : await ownContext({ baseURL: api.url, colorScheme, ...options })
  if (as) await signIn(context, api.url, as)
  onTestFinished(() => expect(faults).toEqual([]))
  const page = await context.newPage()
  onTestFinished(async ({ task }) => {
    if (task.result?.state === 'fail') for (const failed of context.pages()) console.error(await shownBy(failed))
  })
  await page.goto(path)
  return { page, context, faults }
}

type Watched = { context: BrowserContext; faults: Faults }

async function ownContext(options: BrowserContextOptions & { baseURL: string }): Promise<Watched> {
  const watched = await newContext(options)
  onTestFinished(() => watched.context.close())
  return watched
}

async function newContext(options: BrowserContextOptions & { baseURL: string }): Promise<Watched> {
  const context = await (await launch()).newContext({
    viewport: { width: 1280, height: 800 },
    // Nobody waits for dialogs that fade in.
    reducedMotion: 'reduce',
    // Of whoever runs the tests otherwise.
    locale: 'en-US',
    ...options,
  })
  // How long a busy machine takes is never what is tested.
  context.setDefaultTimeout(100_000)
  const faults: Faults = []
  await context.exposeFunction('onPolicyViolation', (what: string) => void faults.push(`policy: ${what}`))
  await context.addInitScript(
    `addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
       onPolicyViolation(violatedDirective + ' ' + blockedURI))`,
  )
  context.on('page', (page) => watch(page, options.baseURL, faults))
  return { context, faults }
}

const firstTests = new Map<string, string | undefined>()

/**
 * A service that tests share is met again in another test. One of a test's own ends with it, and waits for connections that
 * a browser still holds.
 */
function isShared(url: string): boolean {
  const { currentTestName } = expect.getState()
  if (!firstTests.has(url)) firstTests.set(url, currentTestName)
  return firstTests.get(url) !== currentTestName
}

type Kept = Watched & { url: string; empty: Page; isTaken: boolean }

const keptByScheme = new Map<Scheme, Kept>()

/**
 * A context of this worker that its tests use in turn. A new one has a new process, which compiles every script again; this
 * one is kept by a page with nothing of the dashboard. Pages, cookies and storage of a test are gone when the next begins.
 */
async function takeKept(url: string, colorScheme: Scheme): Promise<Watched> {
  let kept = keptByScheme.get(colorScheme)
  // Somebody else's browser, in the same test.
  if (kept?.isTaken) return ownContext({ baseURL: url, colorScheme })
  if (kept?.url !== url) {
    await kept?.context.close()
    const watched = await newContext({ baseURL: url, colorScheme })
    const empty = await watched.context.newPage()
    await empty.route('**', (route) => route.fulfill({ contentType: 'text/html', body: '' }))
    await empty.goto('/')
    kept = { ...watched, url, empty, isTaken: false }
    keptByScheme.set(colorScheme, kept)
  }
  const { context, faults, empty } = kept
  kept.isTaken = true
  onTestFinished(async () => {
    // Should this fail, the context is not used again.
    keptByScheme.delete(colorScheme)
    for (const page of context.pages()) if (page !== empty) await page.close()
    await context.clearCookies()
    const devtools = await context.newCDPSession(empty)
    await devtools.send('Storage.clearDataForOrigin', { origin: url, storageTypes: 'all' })
    await devtools.detach()
    faults.length = 0
    keptByScheme.set(colorScheme, { ...kept, isTaken: false })
  })
  return { context, faults }
}

/** What can be read on a page when its test has failed, with what was typed. */
async function shownBy(page: Page): Promise<string> {
  const shown = page.evaluate<string>(
    `[document.body.innerText, ...[...document.querySelectorAll('input, textarea')].map(({ name, id, value }) =>
      (name || id) + ': ' + value)].join('\\n')`,
  )
  const nothing = new Promise<string>((resolve) => setTimeout(resolve, 5_000, 'does not answer').unref())
  return `${page.url()}\n${await Promise.race([shown, nothing]).catch(String)}`
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

const REFUSED = /^Failed to load resource: the server responded with a status of/
const ID = /\b[a-z]+_[0-7][0-9a-hjkmnp-tv-z]{25}\b/g

function watch(page: Page, url: string, faults: Faults): void {
  page.on('console', (message) => {
    // Told with its request below.
    if (REFUSED.test(message.text())) return
    if (message.type() === 'error' || message.type() === 'warning') faults.push(`console: ${message.text()}`)
  })
  page.on('response', (response) => {
    const path = new URL(response.url()).pathname.replaceAll(ID, '*')
    if (response.status() >= 400) faults.push(`answer: ${response.status()} ${response.request().method()} ${path}`)
  })
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`))
  page.on('request', (request) => {
    if (!request.url().startsWith(`${url}/`) && !/^(data|blob):/.test(request.url()))
      faults.push(`request: ${request.url()}`)
  })
}

/** Everything that a page keeps or shows: its DOM, its storage, its history, its address and title. */
export async function everythingIn(page: Page): Promise<string> {
  // No page keeps anything in there, so nothing in there has to be read.
  expect(await page.evaluate('Promise.all([indexedDB.databases(), caches.keys()])')).toEqual([[], []])
  return page.evaluate<string>(
    `[document.documentElement.outerHTML, ...[...document.querySelectorAll('input, textarea')].map(({ value }) => value),
      JSON.stringify({ ...localStorage }), JSON.stringify({ ...sessionStorage }), JSON.stringify(history.state),
      document.cookie, location.href, document.title].join('\\n')`,
  )
}
