// Every way to lose a secret that is shown once, and how it is found again.

import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { type Shop, shop } from '../../../tests/shop.ts'
import { browserTest, everythingIn, forgive, LOST_ANSWER, type Opened, openBrowser, signIn } from './browser.ts'
import { fillSignIn, signOutByMenu } from './flows.ts'
import { expectAccessible } from './looks.ts'

async function fillForm(page: Page, name: string): Promise<void> {
  // The browser asks before it leaves a page with something unsaved.
  page.on('dialog', (dialog) => void dialog.accept())
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill(name)
  await page.getByRole('checkbox', { name: 'READ' }).check()
}

const secretOf = (page: Page) => page.getByTestId('secret').textContent()
const showAgain = (page: Page) => page.getByRole('button', { name: /^Show it again/ }).click()

/** A key whose secret is on the screen. */
async function created(world: Shop, isOwn = false): Promise<Opened & { secret: string }> {
  const opened = await openBrowser(world, `/stores/${world.store.id}/keys`, { as: world.owner, isOwn })
  await opened.page.getByRole('link', { name: 'Create a key' }).click()
  await fillForm(opened.page, 'Checkout')
  await opened.page.getByRole('button', { name: 'Create key' }).click()
  const secret = (await secretOf(opened.page)) as string
  expect(secret).toMatch(/^skp_test_/)
  return { ...opened, secret }
}

const namesOf = async ({ api, owner, keys }: Shop, token = owner.token) =>
  ((await api.get(keys, { as: token })).body.data as { name: string }[]).map(({ name }) => name)

browserTest('a secret that was not confirmed survives Esc, the way back and a reload', async () => {
  const world = await shop()
  const { page, secret } = await created(world)
  await page.keyboard.press('Escape')
  await page.getByText('You created the key “Checkout”').waitFor()
  expect(await everythingIn(page)).not.toContain(secret)

  await showAgain(page)
  expect(await secretOf(page)).toBe(secret)
  await page.reload()
  await showAgain(page)
  expect(await secretOf(page)).toBe(secret)
  await page.goBack()
  await page.keyboard.press('Escape')
  await showAgain(page)
  expect(await secretOf(page)).toBe(secret)
  await expectAccessible(page)
  expect(await namesOf(world)).toEqual(['Checkout'])
})

browserTest('a secret survives a closed tab and one that crashes and is nowhere once it is saved', async () => {
  const world = await shop()
  const { page, context, secret } = await created(world, true)
  await expectAccessible(page)
  await page.close()

  const opened = await context.newPage()
  await opened.goto(`/stores/${world.store.id}/keys`)
  await showAgain(opened)
  expect(await secretOf(opened)).toBe(secret)
  const crashed = opened.waitForEvent('crash')
  opened.goto('chrome://crash').catch(() => {})
  await crashed

  const next = await context.newPage()
  await next.goto(`/stores/${world.store.id}/keys`)
  await showAgain(next)
  expect(await secretOf(next)).toBe(secret)
  const another = await context.newPage()
  await another.goto('/stores')
  await another.getByRole('button', { name: /^Show it again/ }).waitFor()
  await next.getByRole('checkbox', { name: 'I have saved it' }).check()
  await next.getByRole('button', { name: 'Done' }).click()
  await next.getByRole('link', { name: 'Checkout' }).waitFor()
  expect(await next.getByTestId('secret').count()).toBe(0)
  expect(await everythingIn(next)).not.toContain(secret)
  // Nor is it offered again, in this tab or in another.
  await expect.poll(() => another.getByRole('button', { name: /^Show it again/ }).count()).toBe(0)
  await next.reload()
  await next.getByRole('link', { name: 'Checkout' }).waitFor()
  expect(await next.getByRole('button', { name: /^Show it again/ }).count()).toBe(0)
  expect(await next.evaluate(`localStorage.getItem('storekeeper.unconfirmed')`)).toBeNull()
})

browserTest('a secret whose answer was lost is asked for again, and the key is made once', async () => {
  const world = await shop()
  const { api, owner, keys, store } = world
  const { page, faults } = await openBrowser(world, `/stores/${store.id}/keys/new`, { as: owner })
  await fillForm(page, 'Checkout')
  // The service has made the key and answered; the answer never arrives.
  await page.route(`**${keys}`, async (route) => {
    if (route.request().method() !== 'POST') return route.continue()
    await route.fetch()
    await route.abort('connectionreset')
  })
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByText('No answer came.').waitFor()
  await expectAccessible(page)
  await page.unroute(`**${keys}`)
  await page.getByRole('button', { name: 'Try again' }).click()
  const secret = await secretOf(page)
  const listed = (await api.get(keys, { as: owner.token })).body.data
  expect(listed).toHaveLength(1)
  expect(secret?.startsWith(listed[0].start)).toBe(true)
  forgive(faults, LOST_ANSWER)
})

browserTest('while a secret is on its way the dialog stays, and a reload loses nothing', async () => {
  const world = await shop()
  const { owner, keys, store } = world
  const { page, faults } = await openBrowser(world, `/stores/${store.id}/keys/new`, { as: owner })
  await fillForm(page, 'Checkout')
  let arrive = () => {}
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve
  })
  // The service answers, and the answer is under way when the page is left.
  await page.route(`**${keys}`, async (route) => {
    if (route.request().method() !== 'POST') return route.continue()
    await route.fetch()
    arrive()
  })
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByText('Creating it …').waitFor()
  await arrived
  await page.keyboard.press('Escape')
  await page.getByText('Creating it …').waitFor()
  await expectAccessible(page)
  // What turns while somebody waits stands still for whoever asked for less motion.
  expect(await page.evaluate('document.getAnimations().length')).toBe(0)
  await page.unroute(`**${keys}`)
  await page.reload()
  await showAgain(page)
  expect(await secretOf(page)).toMatch(/^skp_test_/)
  expect(await namesOf(world)).toEqual(['Checkout'])
  forgive(faults, LOST_ANSWER)
})

browserTest('a session that ends while somebody types loses nothing, and the call is repeated as it was', async () => {
  const world = await shop()
  const { api, owner, keys, store } = world
  const { page, context, faults } = await openBrowser(world, `/stores/${store.id}/keys/new`, { as: owner })
  await fillForm(page, 'Checkout')
  const sent: (string | undefined)[] = []
  page.on('request', (request) => {
    if (request.method() === 'POST' && request.url().endsWith(keys)) sent.push(request.headers()['idempotency-key'])
  })
  await world.sql('delete from sessions where user_id = $1', [owner.id])
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByText('Your session has ended.').waitFor()
  const overlay = page.getByRole('dialog', { name: 'Sign in again' })
  await overlay.locator('input[name=password]').fill(owner.password)
  await overlay.getByRole('button', { name: 'Sign in', exact: true }).click()
  const secret = await secretOf(page)
  expect(sent).toHaveLength(2)
  expect(sent[0]).toBe(sent[1])
  expect(sent[0]).toMatch(/./)

  // In a new session the service does not show it again, and the page says what is left to do.
  const signedIn = await api.post('/v1/auth/sign-in', { email: owner.email, password: owner.password })
  await signIn(context, api.url, signedIn.body)
  await page.reload()
  await showAgain(page)
  await page.getByText('it can no longer be shown').waitFor()
  await page.getByRole('button', { name: 'Done' }).click()
  const listed = (await api.get(keys, { as: signedIn.body.token })).body.data
  expect(listed).toHaveLength(1)
  expect(secret?.startsWith(listed[0].start)).toBe(true)
  forgive(faults, '401 POST /v1/user/store/*/keys', '409 POST /v1/user/store/*/keys')
})

browserTest('after a new sign-in, the page says that the key exists, and rotates it', async () => {
  const world = await shop()
  const { page, faults, secret } = await created(world)
  await page.keyboard.press('Escape')
  // The page of the key reads what it shows: a read that is under way when the session ends is refused.
  await page.getByRole('heading', { name: 'Checkout', level: 1 }).waitFor()
  await expect.poll(() => page.locator('[aria-busy=true]').count()).toBe(0)
  await signOutByMenu(page)
  expect(await everythingIn(page)).not.toContain(secret)
  await fillSignIn(page, world.owner)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await showAgain(page)
  await page.getByText('The key was created, but it can no longer be shown').waitFor()
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Rotate the key' }).click()
  const question = page.getByRole('dialog', { name: 'New secret for “Checkout”' })
  await question.getByRole('button', { name: 'Rotate' }).click()
  await expect.poll(() => secretOf(page)).toMatch(/^skp_test_/)
  expect(await secretOf(page)).not.toBe(secret)
  await page.getByRole('checkbox', { name: 'I have saved it' }).check()
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByText('Two secrets work').waitFor()
  forgive(faults, '409 POST /v1/user/store/*/keys')
})

browserTest('a secret that was never confirmed leaves nothing in the browser after an hour', async () => {
  const world = await shop()
  const { page } = await created(world, true)
  const noted = () => page.evaluate<string | null>(`localStorage.getItem('storekeeper.unconfirmed')`)
  await page.keyboard.press('Escape')
  await page.clock.install()
  await page.reload()
  const again = page.getByRole('button', { name: /^Show it again/ })
  await again.waitFor()
  const note = (await noted()) as string
  await page.clock.fastForward('59:00')
  expect(await noted()).toBe(note)
  await page.clock.fastForward('02:00')
  await expect.poll(noted).toBe(null)
  await expect.poll(() => again.count()).toBe(0)

  // Nobody had a page open when the hour was over.
  const leaveNote = () => page.evaluate(`localStorage.setItem('storekeeper.unconfirmed', ${JSON.stringify(note)})`)
  await signOutByMenu(page)
  await leaveNote()
  await page.goto('/sign-in')
  await expect.poll(noted).toBe(null)
  await leaveNote()
  await fillSignIn(page, world.owner)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('button', { name: /^Account/ }).waitFor()
  await expect.poll(noted).toBe(null)
  await leaveNote()
  await signOutByMenu(page)
  await expect.poll(noted).toBe(null)
})

browserTest('the link of an invitation is offered again until the invitation was accepted', async () => {
  const world = await shop()
  const { api, owner, person, store } = world
  const guest = await person()
  const { page } = await openBrowser(world, `/stores/${store.id}/members`, { as: owner })
  await page.getByRole('button', { name: 'Invite somebody' }).click()
  await page.getByRole('textbox', { name: 'E-mail', exact: true }).fill(guest.email)
  await page.getByRole('button', { name: 'Create the link' }).click()
  const token = (await secretOf(page))?.split('token=')[1]
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'I have sent it' }).waitFor()
  await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Invite somebody')
  await page.reload()
  await page.getByText('Open invitations').waitFor()
  await page.getByRole('button', { name: 'I have sent it' }).waitFor()

  await api.post('/v1/user/invitations/accept', { token }, { as: guest.token })
  await page.reload()
  await page.getByRole('cell', { name: guest.email }).waitFor()
  await expect.poll(() => page.getByRole('button', { name: 'I have sent it' }).count()).toBe(0)
})

browserTest('where a page may not copy, the secret is selected instead, and says so', async () => {
  const world = await shop()
  const { page, context } = await openBrowser(world, '/found-a-key', { as: world.owner, isOwn: true })
  await context.addInitScript(`Object.defineProperty(navigator, 'clipboard', { value: undefined })`)
  await page.goto(`/stores/${world.store.id}/keys/new`)
  await fillForm(page, 'Checkout')
  await page.getByRole('button', { name: 'Create key' }).click()
  const secret = await secretOf(page)
  await page.getByRole('dialog').getByRole('button', { name: 'Copy', exact: true }).click()
  await page.getByText('Your browser does not let this page copy.').waitFor()
  expect(await page.evaluate('getSelection()?.toString()')).toBe(secret)
  expect(await page.getByRole('button', { name: 'Done' }).isDisabled()).toBe(true)
  await page.getByRole('checkbox', { name: 'I have saved it' }).check()
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('heading', { name: 'Checkout', level: 1 }).waitFor()
})
