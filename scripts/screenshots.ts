// Every page of the dashboard, in both colour schemes and at two widths, as pictures to look at: a service of its own is
// started, filled with the demo store, and opened in Chromium. `npm run screenshots -- out keys overview` takes only these.

import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type BrowserContext, chromium, type Page } from 'playwright-core'
import { newWorld, run } from '../bench/world.ts'
import { storekeeper } from '../packages/client/src/index.ts'
import { CHROMIUM, CHROMIUM_ARGS, NO_CHROMIUM } from '../packages/dashboard/tests/chromium.ts'
import { allPages, type PageOf } from '../packages/dashboard/tests/pages.ts'

const WIDTHS = [1280, 390]
const SCHEMES = ['light', 'dark'] as const
const root = join(import.meta.dirname, '..')
const [folder = 'screenshots', ...only] = process.argv.slice(2)

if (!CHROMIUM) throw new Error(NO_CHROMIUM)
mkdirSync(folder, { recursive: true })
const world = await newWorld()
const settings = { DATABASE_URL: world.url, SERVER_SECRET: world.secret }
const service = await run([join(root, 'bin/start.js')], { ...settings, PORT: '0' })
const browser = await chromium.launch({ executablePath: CHROMIUM, args: CHROMIUM_ARGS })
try {
  const { email, password } = fill()
  for (const width of WIDTHS)
    for (const colorScheme of SCHEMES) {
      const size = { width, height: width > 600 ? 800 : 844 }
      const context = await browser.newContext({ baseURL: service.url, viewport: size, colorScheme })
      context.setDefaultTimeout(120_000)
      await takeAll(context, `${width}-${colorScheme}`, email, password)
      await context.close()
    }
} finally {
  await browser.close()
  await service.stop()
  await world.close()
}

/** As `npm run demo` does. */
function fill(): { email: string; password: string } {
  const told = execFileSync('npx', ['tsx', join(root, 'scripts/demo.ts'), service.url], {
    env: { ...process.env, ...settings },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [, email = '', password = ''] = /E-mail +(\S+)\s+Password +(.+)/.exec(told) ?? []
  return { email, password }
}

async function takeAll(context: BrowserContext, suffix: string, email: string, password: string): Promise<void> {
  const { token } = await storekeeper({ url: service.url }).auth.signIn({ email, password })
  const sk = storekeeper({ url: service.url, token })
  const { stores } = await sk.user.read()
  const storeId = stores.find(({ store }) => store.name.startsWith('Harbour'))?.store.id ?? ''
  const store = sk.store(storeId)
  const keys = await store.keys.list({}).toArray({ max: 100 })
  const keyId = keys.find(({ name }) => name === 'Warehouse scanner')?.id ?? ''
  const webhooks = await store.webhooks.list({}).toArray({ max: 10 })
  const webhook = webhooks.find(({ enabled }) => enabled)
  const [member] = await store.members.list({ role: 'STAFF' }).toArray({ max: 1 })
  const [own] = await store.addresses.list({}).toArray({ max: 1 })
  const [customer] = await store.customers.list({}).toArray({ max: 1 })
  const { externalId = '', id: customerId = '' } = customer ?? {}
  const [theirs] = await store.customers.addresses.list(externalId, {}).toArray({ max: 1 })
  const pages = allPages({
    storeId,
    keyId,
    webhookId: webhook?.id ?? '',
    userId: member?.userId ?? '',
    addressId: own?.id ?? '',
    customer: { externalId, userId: customerId, addressId: theirs?.id ?? '' },
  })

  const page = await context.newPage()
  const wanted = pages.filter(({ name }) => only.length === 0 || only.includes(name))
  for (const one of wanted.filter(({ isPublic }) => isPublic)) await take(page, one, suffix)
  await context.addCookies([
    {
      name: '__Host-storekeeper',
      value: token ?? '',
      domain: new URL(service.url).hostname,
      path: '/',
      httpOnly: true,
      secure: true,
      sameSite: 'Lax',
    },
  ])
  for (const one of wanted.filter(({ isPublic }) => !isPublic)) await take(page, one, suffix)
}

async function take(page: Page, { name, path, opens = [] }: PageOf, suffix: string): Promise<void> {
  await page.goto(path)
  await page.locator('h1').first().waitFor()
  // Waiting for a function is forbidden by the page's policy: Playwright would compile it in the page.
  await page.evaluate(`(async () => {
    while (document.querySelector('[aria-busy=true]')) await new Promise(requestAnimationFrame)
  })()`)
  // What comes later, such as the bars of a list; a stream of events never ends.
  await page.waitForLoadState('networkidle', { timeout: 3_000 }).catch(() => {})
  await page.screenshot({ path: join(folder, `${name}-${suffix}.png`), fullPage: true })
  for (const button of opens) {
    const opener = page.getByRole('button', { name: button }).or(page.getByRole('tab', { name: button }))
    await opener.first().click()
    // A tab whose script is still on its way is empty.
    await page.evaluate(`(async () => {
      const isEmpty = () => [...document.querySelectorAll('[role=tabpanel]:empty')].some((one) => one.checkVisibility())
      while (isEmpty()) await new Promise(requestAnimationFrame)
    })()`)
    await page.evaluate('Promise.allSettled(document.getAnimations().map(({ finished }) => finished))')
    await page.screenshot({ path: join(folder, `${name}-${button.toLowerCase().replaceAll(' ', '-')}-${suffix}.png`) })
    await page.keyboard.press('Escape')
  }
}
