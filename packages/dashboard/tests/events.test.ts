import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { shop } from '../../../tests/shop.ts'
import { browserTest, openBrowser } from './browser.ts'
import { expectAccessible } from './looks.ts'

const hide = (page: Page, hidden: boolean) =>
  page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))`)

browserTest('events are told in sentences, filtered by the address, and wait while somebody reads', async () => {
  const world = await shop()
  const { api, owner, keys, store } = world
  const create = (name: string) =>
    api.post(keys, { name, type: 'TEST', permissions: ['READ'] }, { as: owner.token }).then(({ body }) => body)
  const { id } = await create('Checkout')
  const { page } = await openBrowser(world, `/stores/${store.id}/events`, { as: owner, timezoneId: 'Asia/Kolkata' })
  await page.getByText('Olive Owner created the key “Checkout”').waitFor()
  await page.getByText('Olive Owner created the store “The shop”').waitFor()
  await expectAccessible(page)

  const time = page.locator('time').first()
  const local = await time.textContent()
  await page.keyboard.press('u')
  await expect.poll(() => time.textContent()).toMatch(/UTC$/)
  const at = Date.parse((await time.getAttribute('datetime')) as string)
  const shown = new Intl.DateTimeFormat('en-GB', {
    dateStyle: 'medium',
    timeStyle: 'medium',
    timeZone: 'Asia/Kolkata',
  }).format(at)
  expect(local).toBe(shown)

  // Somebody who joined since the page was opened is told by name, too.
  const colleague = await world.member('MANAGER')
  await api.post(keys, { name: 'Theirs', type: 'TEST', permissions: ['READ'] }, { as: colleague.token })
  await page.getByText('A manager created the key “Theirs”').waitFor()

  // An opened event is read: what comes waits.
  await page.getByRole('button', { name: 'JSON of key.created' }).last().click()
  await page.getByText(`"subject": "${id}"`).waitFor()
  await expectAccessible(page)
  await create('Warehouse')
  await create('Returns')
  await page.getByText('2 new').waitFor()
  expect(await page.getByText('“Warehouse”').count()).toBe(0)
  await page.getByRole('button', { name: 'Show', exact: true }).click()
  await page.getByText('Olive Owner created the key “Warehouse”').waitFor()
  expect(await page.locator('li').first().textContent()).toContain('Returns')

  await page.getByRole('button', { name: 'Only about this' }).click()
  await expect.poll(() => page.locator('main li').count()).toBe(1)
  expect(new URL(page.url()).searchParams.get('subject')).toBe(id)
  await page.goBack()
  await expect.poll(() => page.locator('main li').count()).toBeGreaterThan(3)
  await page.getByRole('combobox', { name: 'What' }).selectOption('Store')
  await expect.poll(() => page.locator('main li').count()).toBe(1)
})

browserTest('all tabs of a browser share one stream, which moves on when its tab is hidden or closed', async () => {
  const world = await shop()
  const { api, owner, keys, store } = world
  const create = (name: string) => api.post(keys, { name, type: 'TEST', permissions: ['READ'] }, { as: owner.token })
  const { page, context } = await openBrowser(world, '/found-a-key', { as: owner, isOwn: true })
  const streams: string[] = []
  context.on('request', (request) => {
    if (request.url().includes('/events/stream')) streams.push(request.url())
  })
  await page.goto(`/stores/${store.id}/events`)
  await expect.poll(() => streams.length).toBe(1)
  const others: Page[] = []
  for (let n = 0; n < 6; n++) {
    const other = await context.newPage()
    await other.goto(`/stores/${store.id}/events`)
    await other.getByText('created the store').waitFor()
    others.push(other)
  }
  await create('First')
  for (const tab of [page, ...others]) await tab.getByText('created the key “First”').waitFor()
  expect(streams).toHaveLength(1)

  await hide(page, true)
  await expect.poll(() => streams.length).toBe(2)
  await create('Second')
  for (const tab of others) await tab.getByText('created the key “Second”').waitFor()
  expect(await page.getByText('“Second”').count()).toBe(0)
  await others[0]?.close()
  await expect.poll(() => streams.length).toBe(3)
  await create('Third')
  for (const tab of others.slice(1)) await tab.getByText('created the key “Third”').waitFor()
  // What happened while it was hidden is there once it is seen again, once each.
  await hide(page, false)
  await page.getByText('created the key “Third”').waitFor()
  expect(await page.getByText('created the key “Second”').count()).toBe(1)
})

browserTest('the seal is computed in the browser, and a head that was kept tells of a changed event', async () => {
  const world = await shop()
  const { api, owner, keys, store } = world
  for (const name of ['Till', 'Straße 東京 "quoted"'])
    await api.post(
      keys,
      { name, type: 'TEST', permissions: ['READ'], metadata: { '\u20ac': 1.5 } },
      { as: owner.token },
    )
  const head = () => api.get(`/v1/user/store/${store.id}/events/head`, { as: owner.token })
  await expect.poll(async () => (await head()).body.seq).toBe(3)
  const { page } = await openBrowser(world, `/stores/${store.id}/events`, { as: owner, colorScheme: 'dark' })
  await page.getByRole('button', { name: 'Check for tampering' }).click()
  await page.getByRole('button', { name: 'Check in this browser' }).click()
  await page.getByText('All 3 events are sound.').waitFor()
  await expectAccessible(page)
  const download = page.waitForEvent('download')
  await page.getByRole('link', { name: 'Download the head' }).click()
  const kept = await readFile(await (await download).path(), 'utf8')
  expect(JSON.parse(kept)).toEqual({ storeId: store.id, ...(await head()).body })

  await page.getByLabel('Heads that you kept').fill(`Mon Nov 16 2026\n${kept}2:${'0'.repeat(64)}\n`)
  await page.getByRole('button', { name: 'Check again' }).click()
  await page.getByText('Head of event 3: nothing up to there has changed.').waitFor()
  await page.getByText('Head of event 2: something up to there was changed.').waitFor()

  // A service that tells of another past than the one it has sealed.
  await page.route('**/events?type=store.created*', async (route) => {
    const response = await route.fetch()
    await route.fulfill({ response, body: (await response.text()).replace('The shop', 'Another shop') })
  })
  await page.getByRole('button', { name: 'Check again' }).click()
  await page.getByText('The events do not match the head').waitFor()
  await page.getByText('Head of event 3: something up to there was changed.').waitFor()
})
