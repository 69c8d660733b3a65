// npm run bench:dashboard: how long a person waits in Chromium, on loopback. Cold: a new browser context opens the list of
// keys, until its first row stands; ROUNDS (default 9) times, with 12 keys. Then 1,000 keys are searched, from a key press
// to the frame that shows its result.

import { randomBytes } from 'node:crypto'
import { chromium } from 'playwright-core'
import { CHROMIUM, CHROMIUM_ARGS, NO_CHROMIUM } from '../packages/dashboard/tests/chromium.ts'
import { median, newMembers, newWorld, runOurs } from './world.ts'

const ROUNDS = Number(process.env.ROUNDS ?? 9)
if (!CHROMIUM) throw new Error(NO_CHROMIUM)
const world = await newWorld()
const { storeId, tokens } = await newMembers(world, 1)
const token = tokens[0] as string
const service = await runOurs(world)
const keys = `${service.url}/v1/user/store/${storeId}/keys`
const importKeys = async (count: number) => {
  const lines = Array.from({ length: count }, (_, n) => ({
    name: `${['Checkout', 'Warehouse', 'Reports'][n % 3]} ${n}`,
    sha256: randomBytes(32).toString('hex'),
    type: 'TEST',
    permissions: ['READ'],
  }))
  const { status } = await fetch(`${keys}/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ keys: lines }),
  })
  if (status !== 200) throw new Error(`The import was answered ${status}`)
}
await importKeys(12)
const browser = await chromium.launch({ executablePath: CHROMIUM, args: CHROMIUM_ARGS })
const open = async () => {
  const context = await browser.newContext({ baseURL: service.url, viewport: { width: 1280, height: 800 } })
  const cookie = { name: '__Host-storekeeper', value: token, domain: '127.0.0.1', path: '/', secure: true }
  await context.addCookies([cookie])
  const page = await context.newPage()
  const began = performance.now()
  await page.goto(`/stores/${storeId}/keys`, { waitUntil: 'commit' })
  // By its address: to look for it by its role and name, as the tests do, takes the page's own time, and a good deal of it.
  await page.locator('a[href*="/keys/key_"]').first().waitFor()
  return { context, page, ms: performance.now() - began }
}
const cold: number[] = []
for (let round = 0; round < ROUNDS; round++) {
  const { context, ms } = await open()
  cold.push(ms)
  await context.close()
}
await importKeys(988)
const { page } = await open()
const search = page.getByRole('textbox', { name: 'Search keys' })
await page.evaluate(`
  window.presses = []
  document.querySelector('input').addEventListener('keydown', () => {
    const begun = performance.now()
    requestAnimationFrame(() => setTimeout(() => presses.push(performance.now() - begun)))
  })`)
await search.pressSequentially('warehouse 97', { delay: 150 })
const presses = await page.evaluate<number[]>('presses')
const show = (values: number[]) => ({
  median: Math.round(median(values)),
  most: Math.round(Math.max(...values)),
})
console.table({ 'keys list, cold, ms': show(cold), 'a key press among 1,000 keys, ms': show(presses) })
await browser.close()
await service.stop()
await world.close()
