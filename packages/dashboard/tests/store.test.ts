// What else a store has: its freeze, its end and restoring it, members, webhooks with their messages, and a key somebody found.

import { expect } from 'vitest'
import { type Shop, shop } from '../../../tests/shop.ts'
import { receiver } from '../../../tests/webhook-receiver.ts'
import { browserTest, everythingIn, forgive, LOST_ANSWER, openBrowser } from './browser.ts'
import { expectAccessible, expectNarrow } from './looks.ts'

const newKey = async ({ api, owner, keys }: Shop, as = owner) =>
  (await api.post(keys, { name: 'Checkout', type: 'TEST', permissions: ['READ'] }, { as: as.token })).body as {
    id: string
    key: string
  }

browserTest('a store whose answer was lost is made once, is frozen, renamed by two, deleted and restored', async () => {
  const world = await shop()
  const { api, owner } = world
  const { page, faults } = await openBrowser(world, '/stores/new', { as: owner })
  const sent: (string | undefined)[] = []
  await page.route('**/v1/user/store', async (route) => {
    if (route.request().method() !== 'POST') return route.continue()
    sent.push(route.request().headers()['idempotency-key'])
    await route.fetch()
    await route.abort('connectionreset')
  })
  await page.getByRole('textbox', { name: 'Name of the store' }).fill('Engines')
  await page.getByRole('button', { name: 'Create store' }).click()
  await page.getByRole('alert').waitFor()
  await page.unroute('**/v1/user/store')
  page.on('request', (request) => {
    if (request.method() === 'POST' && request.url().endsWith('/v1/user/store'))
      sent.push(request.headers()['idempotency-key'])
  })
  await page.getByRole('button', { name: 'Create store' }).click()
  await page.getByRole('heading', { name: 'Engines' }).waitFor()
  expect(sent.length).toBeGreaterThan(1)
  expect([...new Set(sent)]).toEqual([expect.stringMatching(/./)])
  const { stores } = (await api.get('/v1/user', { as: owner.token })).body
  expect(stores).toHaveLength(2)
  const { id } = stores.map(({ store }: { store: { id: string } }) => store).find(named('Engines'))

  await page.getByRole('link', { name: 'Settings' }).click()
  await page.getByRole('button', { name: 'Freeze all keys' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Type Engines to go on').fill('Engines')
  await dialog.getByRole('button', { name: 'Freeze all keys' }).click()
  await page.getByText('This store is frozen').waitFor()
  await expectAccessible(page)
  await expectNarrow(page)
  await page.getByRole('button', { name: 'Unfreeze all keys' }).click()
  await expect.poll(() => page.getByText('This store is frozen').count()).toBe(0)

  await page.getByRole('textbox', { name: 'Name of the store' }).fill('Difference engines')
  await api.patch(`/v1/user/store/${id}`, { registration: 'OPEN' }, { as: owner.token })
  await page.getByRole('button', { name: 'Save' }).click()
  const conflict = page.getByRole('alert')
  await conflict.getByRole('row', { name: 'Registration OPEN CLOSED' }).waitFor()
  await conflict.getByRole('row', { name: 'Name Engines Difference engines' }).waitFor()
  await expectAccessible(page)
  await conflict.getByRole('button', { name: 'Save mine' }).click()
  await page.getByRole('button', { name: 'Switch store: Difference engines' }).waitFor()
  await page.getByText('Saved.').waitFor()
  const { name, registration } = (await api.get(`/v1/user/store/${id}`, { as: owner.token })).body
  expect({ name, registration }).toEqual({ name: 'Difference engines', registration: 'OPEN' })

  await page.getByRole('button', { name: 'Delete store' }).click()
  await dialog.getByLabel('Type Difference engines to go on').fill('Difference engines')
  await dialog.getByRole('button', { name: 'Delete store' }).click()
  await page.getByText('Deleted stores').waitFor()
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Restore' }).click()
  await page.getByRole('heading', { name: 'Difference engines' }).waitFor()
  await page.getByRole('button', { name: 'Switch store: Difference engines' }).waitFor()
  forgive(faults, LOST_ANSWER, '412 PATCH /v1/user/store/*')
})

const named =
  (wanted: string) =>
  ({ name }: { name?: string }) =>
    name === wanted

browserTest('a member’s role is changed by two, and who is removed leaves no keys behind', async () => {
  const world = await shop()
  const { api, owner, store, member } = world
  const manager = await member('MANAGER')
  const { id: keyId } = await newKey(world, manager)
  const path = `/v1/user/store/${store.id}/members/${manager.id}`
  const { page, faults } = await openBrowser(world, `/stores/${store.id}/members/${manager.id}`, { as: owner })
  await page.getByRole('radio', { name: 'Staff' }).check()
  await api.patch(path, { role: 'CUSTOMER' }, { as: owner.token })
  await page.getByRole('button', { name: 'Save' }).click()
  const conflict = page.getByRole('alert').filter({ hasText: 'Somebody else has changed this meanwhile' })
  await conflict.getByRole('row', { name: /^Role CUSTOMER STAFF/ }).waitFor()
  await expectAccessible(page)
  await conflict.getByRole('button', { name: 'Save mine' }).click()
  await expect.poll(async () => (await api.get(path, { as: owner.token })).body.role).toBe('STAFF')

  await page.getByRole('button', { name: 'Remove' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Checkout').waitFor()
  await dialog.getByRole('radio', { name: 'Revoke' }).check()
  await expectAccessible(page)
  await dialog.getByRole('button', { name: 'Remove' }).click()
  await page.getByRole('heading', { name: 'Members' }).waitFor()
  expect((await api.get(`${world.keys}/${keyId}`, { as: owner.token })).body.status).toBe('REVOKED')
  forgive(faults, '412 PATCH /v1/user/store/*/members/*')
})

browserTest('a webhook is made, tried, changed by two, and what it missed is sent', async () => {
  const world = await shop({ WEBHOOK_ALLOW_PRIVATE: 'on' })
  const { api, owner, store } = world
  const hook = await receiver(500)
  const { page, faults } = await openBrowser(world, `/stores/${store.id}/webhooks`, { as: owner })
  await page.getByRole('button', { name: 'New webhook' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('textbox', { name: 'URL' }).fill(hook.url)
  // The beginning is enough.
  await dialog.getByLabel('Events').fill('key')
  await page.keyboard.press('Enter')
  await dialog.getByText('key.*', { exact: true }).waitFor()
  await page.keyboard.press('Tab')
  await dialog.getByRole('button', { name: 'Create webhook' }).click()
  const secret = (await page.getByTestId('secret').textContent()) as string
  await page.getByRole('checkbox', { name: 'I have saved it' }).check()
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('heading', { name: hook.url }).waitFor()
  expect(await everythingIn(page)).not.toContain(secret)

  await newKey(world)
  await hook.messages(1)
  await page.getByRole('cell', { name: /500/ }).waitFor()
  await page.getByRole('button', { name: 'Details' }).first().click()
  await dialog.getByText('Answered 500').waitFor()
  await expectAccessible(page)
  hook.answer(204)
  await dialog.getByRole('button', { name: 'Send again' }).click()
  await page.getByText('delivered', { exact: true }).first().waitFor()
  await expectAccessible(page)
  await expectNarrow(page)

  const [webhook] = (await api.get(`/v1/user/store/${store.id}/webhooks`, { as: owner.token })).body.data
  await page.getByRole('button', { name: 'Change' }).click()
  await dialog.getByRole('textbox', { name: 'Description' }).fill('Relay')
  const path = `/v1/user/store/${store.id}/webhooks/${webhook.id}`
  await api.patch(path, { types: ['*'] }, { as: owner.token })
  await dialog.getByRole('button', { name: 'Save', exact: true }).click()
  await dialog.getByRole('row', { name: 'Events * key.*' }).waitFor()
  await expectAccessible(page)
  await dialog.getByRole('button', { name: 'Save mine' }).click()
  await expect
    .poll(async () => (await api.get(path, { as: owner.token })).body)
    .toMatchObject({ types: ['*'], description: 'Relay' })
  forgive(faults, '412 PATCH /v1/user/store/*/webhooks/*')
})

browserTest('a key that somebody found is reported without an account', async () => {
  const world = await shop()
  const { id, key } = await newKey(world)
  const { page } = await openBrowser(world, '/found-a-key')
  await page.getByLabel('The key', { exact: true }).fill(key)
  await page.getByRole('button', { name: 'Report it' }).click()
  await page.getByRole('status').getByText('Thank you.').waitFor()
  await expectAccessible(page)
  expect(await everythingIn(page)).not.toContain(key)
  const status = async () => (await world.api.get(`${world.keys}/${id}`, { as: world.owner.token })).body.status
  await expect.poll(status).toBe('REVOKED')
})
