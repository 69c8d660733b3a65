// Somebody else signs in, in another tab of the same browser, while a page is open: nothing of the page's user is sent,
// shown or kept under the other account.

import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { type Person, type Shop, shop } from '../../../tests/shop.ts'
import { browserTest, everythingIn, forgive, LOST_ANSWER, openBrowser, signIn } from './browser.ts'
import { alicesPage, customer, fillSignIn, pageOf, signOutByMenu } from './flows.ts'

const TYPED = 'Private words'

const userOf = async ({ api }: Shop, { token }: Person) => (await api.get('/v1/user', { as: token })).body.user
const addressesOf = async ({ api, billing }: Shop, { token }: Person) =>
  (await api.get(billing, { as: token })).body.data

/** In a tab of its own, by the pages that people use. */
async function signInElsewhere(page: Page, somebody: Person): Promise<Page> {
  const tab = await page.context().newPage()
  await tab.goto('/stores')
  await signOutByMenu(tab)
  await fillSignIn(tab, somebody)
  await tab.getByRole('button', { name: 'Sign in', exact: true }).click()
  await tab.getByRole('button', { name: /^Account: / }).waitFor()
  return tab
}

// Nothing tells the first page of these: the session has changed, and its next call finds out.

browserTest('a click erases nobody else, names nobody else, and signs nobody else out', async () => {
  const { page, context, faults, world, alice, bob } = await alicesPage(() => '/account/data')
  await page.getByRole('button', { name: 'Erase account' }).click()
  const dialog = page.getByRole('dialog')
  for (let step = 1; step <= 2; step++) await dialog.getByRole('button', { name: 'Continue' }).click()
  await dialog.getByRole('textbox').fill(alice.email)
  await signIn(context, world.api.url, bob)
  await dialog.getByRole('button', { name: 'Erase my account' }).click()
  await pageOf(page, 'Bob')
  expect(await dialog.count()).toBe(0)
  expect([(await userOf(world, bob))?.name, (await userOf(world, alice))?.name]).toEqual(['Bob', 'Alice'])
  expect(await everythingIn(page)).not.toContain(alice.email)

  // The page is Bob's now, and it does not ask whether to stay.
  const asked: string[] = []
  page.on('dialog', (dialog) => {
    asked.push(dialog.type())
    void dialog.accept()
  })
  await page.getByRole('tab', { name: 'Profile' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill(TYPED)
  await signIn(context, world.api.url, alice)
  await page.getByRole('region', { name: 'Your name' }).getByRole('button', { name: 'Save' }).click()
  await pageOf(page, 'Alice')
  expect(await page.getByRole('textbox', { name: 'Name' }).inputValue()).toBe('Alice')
  expect((await userOf(world, alice)).name).toBe('Alice')
  expect(await everythingIn(page)).not.toContain(TYPED)

  await signIn(context, world.api.url, bob)
  await page.getByRole('button', { name: /^Account/ }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await pageOf(page, 'Bob')
  expect((await userOf(world, bob)).name).toBe('Bob')
  expect(asked).toEqual([])
  forgive(faults, '409 DELETE /v1/user', '409 PATCH /v1/user', '409 POST /v1/auth/sign-out')
})

browserTest('an address that was typed is not saved for somebody else, nor shown to them', async () => {
  const { page, context, faults, world, alice, bob } = await alicesPage(
    ({ store }) => `/stores/${store.id}/addresses/new`,
  )
  await page.getByRole('combobox', { name: 'Country or region' }).fill('Germany')
  await page.getByRole('option', { name: 'Germany' }).first().click()
  const fields = { 'First name': 'Alice', Address: TYPED, City: 'Berlin', 'Postal code': '10115' }
  for (const [name, value] of Object.entries(fields)) await page.getByRole('textbox', { name, exact: true }).fill(value)
  await signIn(context, world.api.url, bob)
  await page.getByRole('button', { name: 'Save address' }).click()
  await pageOf(page, 'Bob')
  await page.getByRole('combobox', { name: 'Country or region' }).waitFor()
  expect([await addressesOf(world, alice), await addressesOf(world, bob)]).toEqual([[], []])
  expect(await everythingIn(page)).not.toContain(TYPED)
  // The fields are also checked while somebody types: if that finds out first, it is Bob's empty form that is saved.
  forgive(faults, /^answer: (409|422) POST /, LOST_ANSWER)
})

browserTest('the draft of a key is not shown to the next person in the tab', async () => {
  const world = await shop()
  const { api, owner, store, member } = world
  const bob = await member('OWNER')
  const { page, context } = await openBrowser(world, `/stores/${store.id}/keys/new`, { as: owner })
  page.on('dialog', (dialog) => void dialog.accept())
  const name = page.getByRole('textbox', { name: 'Name', exact: true })
  await name.fill(TYPED)
  await page.reload()
  await expect.poll(() => name.inputValue()).toBe(TYPED)
  await signIn(context, api.url, bob)
  await page.reload()
  await pageOf(page, 'A owner')
  expect(await name.inputValue()).toBe('')
  expect(await everythingIn(page)).not.toContain(TYPED)
})

// The other tabs are told, and no click is needed.

browserTest('a secret that is shown is gone when somebody else signs in in another tab', async () => {
  const world = await shop()
  const { owner, store, member } = world
  const bob = await member('OWNER')
  const { page, faults } = await openBrowser(world, `/stores/${store.id}/keys/new`, { as: owner })
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Checkout')
  await page.getByRole('checkbox', { name: 'READ' }).check()
  await page.getByRole('button', { name: 'Create key' }).click()
  const secret = (await page.getByTestId('secret').textContent()) as string
  await signInElsewhere(page, bob)
  await pageOf(page, 'A owner')
  expect(await everythingIn(page)).not.toContain(secret)
  expect(await page.getByRole('button', { name: /^Show it again/ }).count()).toBe(0)
  forgive(faults, '401 GET /v1/user', '409 GET /v1/user')
})

browserTest('a page notices a user whose page was opened in another tab', async () => {
  const { page, context, faults, world, bob } = await alicesPage(() => '/account')
  await page.getByRole('textbox', { name: 'Name' }).fill(TYPED)
  // As after single sign-on, which no form of the dashboard announces.
  await signIn(context, world.api.url, bob)
  await (await context.newPage()).goto('/stores')
  await pageOf(page, 'Bob')
  expect(await everythingIn(page)).not.toContain(TYPED)
  forgive(faults, '409 GET /v1/user')
})

browserTest('the same person signing in in another tab keeps what was typed', async () => {
  const { page, faults, world, alice } = await alicesPage(() => '/account')
  const name = page.getByRole('textbox', { name: 'Name' })
  await name.fill(TYPED)
  const overlay = page.getByRole('dialog', { name: 'Sign in again' })
  const tab = await page.context().newPage()
  await tab.goto('/stores')
  await signOutByMenu(tab)
  await overlay.waitFor()
  await fillSignIn(tab, alice)
  await tab.getByRole('button', { name: 'Sign in', exact: true }).click()
  await expect.poll(() => overlay.count()).toBe(0)
  expect(await name.inputValue()).toBe(TYPED)
  await page.getByRole('region', { name: 'Your name' }).getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved.').waitFor()
  const { token } = (await world.api.post('/v1/auth/sign-in', { email: alice.email, password: alice.password })).body
  expect((await userOf(world, { ...alice, token })).name).toBe(TYPED)
  forgive(faults, '401 GET /v1/user')
})

browserTest('a link for a new password is not left to somebody who signs in in another tab', async () => {
  const world = await shop()
  const { page, context } = await openBrowser(world, '/reset')
  const tab = await context.newPage()
  const expectDropped = async (enter: () => Promise<void>) => {
    await page.goto('/reset#token=skp_reset_made_up')
    await page.getByRole('button', { name: 'Set password' }).waitFor()
    await enter()
    await page.getByText('This service does not send e-mail.').waitFor()
    await page.reload()
    await page.getByText('This service does not send e-mail.').waitFor()
    expect(await everythingIn(page)).not.toContain('skp_reset_made_up')
  }
  await tab.goto('/sign-in')
  await fillSignIn(tab, await customer(world, 'Bob'))
  await expectDropped(() => tab.getByRole('button', { name: 'Sign in', exact: true }).click())
  await pageOf(tab, 'Bob')
  await signOutByMenu(tab)
  await tab.goto('/sign-up')
  await fillSignIn(tab, { email: `new.${world.owner.email}`, password: 'seven bicycles under one umbrella' })
  await expectDropped(() => tab.getByRole('button', { name: 'Create an account' }).click())
})

// The same tab, without a page load that somebody asked for.

browserTest('a save that waits to be repeated is not sent for the next person in the tab', async () => {
  const world = await shop()
  const [alice, bob] = [await customer(world, 'Alice'), await customer(world, 'Bob')]
  const { page, faults } = await openBrowser(world, '/sign-in', { as: alice, isOwn: true })
  // The wait is ended by the test, when Bob is signed in.
  await page.clock.install()
  const sent: (string | undefined)[] = []
  await page.route('**/v1/user', (route) => {
    if (route.request().method() !== 'PATCH') return route.continue()
    sent.push(route.request().headers()['expected-user'])
    return route.fulfill({ status: 503, headers: { 'retry-after': '5' }, json: { code: 'overloaded', status: 503 } })
  })
  await page.goto('/account')
  await page.getByRole('textbox', { name: 'Name' }).fill(TYPED)
  await page.getByRole('region', { name: 'Your name' }).getByRole('button', { name: 'Save' }).click()
  await expect.poll(() => sent.length).toBeGreaterThan(0)
  await signOutByMenu(page)
  await fillSignIn(page, bob)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await pageOf(page, 'Bob')
  await page.clock.runFor(6_000)
  // Sent after whatever the clock has set off.
  await page.evaluate(`fetch('/v1/user')`)
  expect(new Set(sent)).toEqual(new Set([alice.id]))
  forgive(faults, '503 PATCH /v1/user')
})

browserTest('signing out by the menu ends everything that the page does', async () => {
  const { page } = await alicesPage(() => '/account')
  await page.evaluate('window.isSamePage = true')
  await signOutByMenu(page)
  expect(new URL(page.url()).pathname).toBe('/sign-in')
  expect(await page.evaluate('window.isSamePage')).toBeUndefined()
})

browserTest('an invitation that somebody has opened is not offered to the next person in the tab', async () => {
  const world = await shop()
  const [alice, bob] = [await customer(world, 'Alice'), await customer(world, 'Bob')]
  const { api, owner, store } = world
  const invitation = { email: alice.email, role: 'OWNER' }
  const invited = await api.post(`/v1/user/store/${store.id}/invitations`, invitation, { as: owner.token })
  const { token } = invited.body
  const { page, context, faults } = await openBrowser(world, `/invitation#token=${token}`, { as: alice })
  const accept = page.getByRole('button', { name: 'Accept invitation' })
  await accept.waitFor()
  await signIn(context, api.url, bob)
  await accept.click()
  await page.getByText('This link is incomplete').waitFor()
  expect(await everythingIn(page)).not.toContain(token)

  // Nor when a page in another tab says who is signed in now.
  await signIn(context, api.url, alice)
  await page.goto(`/invitation#token=${token}`)
  await page.getByText(`You are signed in as ${alice.email}.`).waitFor()
  await signIn(context, api.url, bob)
  await (await context.newPage()).goto('/stores')
  await page.getByText('This link is incomplete').waitFor()
  forgive(faults, '409 POST /v1/user/invitations/accept')
})
