// Signing out in one tab is meant for all of them: whoever sits at the browser next sees nothing of the person who left.

import type { Page, Route } from 'playwright-core'
import { expect } from 'vitest'
import { shop } from '../../../tests/shop.ts'
import { browserTest, everythingIn, forgive, LOST_ANSWER, openBrowser } from './browser.ts'
import { alicesPage, customer, fillSignIn, pageOf, signOutByMenu, signOutElsewhere } from './flows.ts'

const TYPED = 'Private words'

browserTest('a secret that is shown is gone when its reader signs out in another tab', async () => {
  const world = await shop()
  const { owner, store } = world
  const { page, faults } = await openBrowser(world, `/stores/${store.id}/keys/new`, { as: owner })
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Checkout')
  await page.getByRole('checkbox', { name: 'READ' }).check()
  await page.getByRole('button', { name: 'Create key' }).click()
  const secret = (await page.getByTestId('secret').textContent()) as string
  await signOutElsewhere(page)
  await page.waitForURL('**/sign-in**')
  await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
  expect(await everythingIn(page)).not.toContain(secret)
  forgive(faults, '401 GET /v1/user', LOST_ANSWER)
})

browserTest('a page on which nothing was typed is gone when its reader signs out in another tab', async () => {
  const { page, faults, alice } = await alicesPage(() => '/account')
  await page.getByText(alice.email).first().waitFor()
  const tab = await signOutElsewhere(page)
  await page.waitForURL('**/sign-in**')
  expect(await everythingIn(page)).not.toContain(alice.email)
  // Whoever signs in there is signed in here.
  await fillSignIn(tab, alice)
  await tab.getByRole('button', { name: 'Sign in', exact: true }).click()
  await pageOf(page, 'Alice')
  expect(new URL(page.url()).pathname).toBe('/account')
  forgive(faults, '401 GET /v1/user', LOST_ANSWER)
})

browserTest('what was typed is covered after signing out in another tab, and given up with the sign-in', async () => {
  const { page, faults } = await alicesPage(() => '/account')
  const asked: string[] = []
  page.on('dialog', (dialog) => {
    asked.push(dialog.type())
    void dialog.accept()
  })
  await page.getByRole('textbox', { name: 'Name' }).fill(TYPED)
  await signOutElsewhere(page)
  const overlay = page.getByRole('dialog', { name: 'Sign in again' })
  await overlay.waitFor()
  const drawn = `[...document.body.children].filter((one) => getComputedStyle(one).display !== 'none').length`
  expect(await page.evaluate(drawn)).toBe(1)
  expect(await page.title()).toBe('Sign in')
  expect(await page.getByRole('textbox', { name: 'Name' }).count()).toBe(0)
  expect(await page.locator('body').ariaSnapshot()).not.toContain('Account')
  await page.keyboard.press('Escape')
  await overlay.getByRole('button', { name: 'Close' }).click()
  await page.waitForURL('**/sign-in')
  await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
  expect(await everythingIn(page)).not.toContain(TYPED)
  expect(asked).toEqual([])
  forgive(faults, '401 GET /v1/user', LOST_ANSWER)
})

browserTest('above what is covered nothing names its user, who signs in by typing their e-mail', async () => {
  const { page, faults, alice } = await alicesPage(() => '/stores')
  await page.getByRole('heading', { name: 'Stores', level: 1 }).waitFor()
  const before = await page.title()
  await page.getByRole('button', { name: /^Account/ }).click()
  await page.getByRole('menuitem', { name: 'Account' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill(TYPED)
  await signOutElsewhere(page)
  const overlay = page.getByRole('dialog', { name: 'Sign in again' })
  await overlay.waitFor()
  expect(await overlay.getByLabel('E-mail').inputValue()).toBe('')
  expect(await page.locator('body').ariaSnapshot()).not.toContain(alice.email)
  // The page of before is drawn below the cover, and its title waits there too.
  await page.goBack()
  await page.locator('h1', { hasText: 'Stores' }).waitFor({ state: 'attached' })
  expect(await page.title()).toBe('Sign in')
  await fillSignIn(page, alice)
  await overlay.getByRole('button', { name: 'Sign in', exact: true }).click()
  await expect.poll(() => overlay.count()).toBe(0)
  expect(await page.title()).toBe(before)
  forgive(faults, /^answer: 401 GET /, LOST_ANSWER)
})

browserTest('a form that asks for a new sign-in drops the e-mail when its user signs out in another tab', async () => {
  const { page, context, faults, alice, world } = await alicesPage(() => '/account')
  const tab = await context.newPage()
  await tab.goto('/stores')
  await pageOf(tab, 'Alice')
  await page.getByRole('textbox', { name: 'Name' }).fill(TYPED)
  await world.sql('delete from sessions where user_id = $1', [alice.id])
  await page.getByRole('region', { name: 'Your name' }).getByRole('button', { name: 'Save' }).click()
  const email = page.getByRole('dialog', { name: 'Sign in again' }).getByLabel('E-mail')
  await expect.poll(() => email.inputValue()).toBe(alice.email)
  await signOutByMenu(tab)
  await expect.poll(() => email.inputValue()).toBe('')
  forgive(faults, /^answer: 401 /, LOST_ANSWER)
})

browserTest('the way back from a page that is covered ends at a page that can be seen', async () => {
  const world = await shop()
  const { page, faults } = await openBrowser(world, '/reset')
  await page.getByRole('link', { name: 'Back to sign-in' }).click()
  await fillSignIn(page, await customer(world, 'Alice'))
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('button', { name: /^Account/ }).click()
  await page.getByRole('menuitem', { name: 'Account' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill(TYPED)
  await signOutElsewhere(page)
  await page.getByRole('dialog', { name: 'Sign in again' }).waitFor()
  await page.evaluate('history.go(-2)')
  await page.getByRole('heading', { name: 'Set a new password' }).waitFor()
  expect(await everythingIn(page)).not.toContain(TYPED)
  forgive(faults, /^answer: 401 GET /, LOST_ANSWER)
})

browserTest('a session that has ended leaves no way back to the page but to sign in', async () => {
  const { page, faults, alice, world } = await alicesPage(() => '/account')
  await page.getByRole('textbox', { name: 'Name' }).fill(TYPED)
  await world.sql('delete from sessions where user_id = $1', [alice.id])
  await page.getByRole('region', { name: 'Your name' }).getByRole('button', { name: 'Save' }).click()
  const overlay = page.getByRole('dialog', { name: 'Sign in again' })
  await overlay.waitFor()
  await page.keyboard.press('Escape')
  await page.mouse.click(5, 5)
  expect(await overlay.count()).toBe(1)
  await overlay.getByRole('button', { name: 'Close' }).click()
  await page.waitForURL('**/sign-in')
  await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
  expect(await everythingIn(page)).not.toContain(TYPED)
  forgive(faults, /^answer: 401 /, LOST_ANSWER)
})

browserTest('an invitation is not offered to the next person after signing out in another tab', async () => {
  const world = await shop()
  const alice = await customer(world, 'Alice')
  const { api, owner, store } = world
  const invitation = { email: alice.email, role: 'OWNER' }
  const invited = await api.post(`/v1/user/store/${store.id}/invitations`, invitation, { as: owner.token })
  const { token } = invited.body
  const { page, faults } = await openBrowser(world, `/invitation#token=${token}`, { as: alice })
  await page.getByText(`You are signed in as ${alice.email}.`).waitFor()
  await signOutElsewhere(page)
  await page.getByText('This link is incomplete').waitFor()
  await page.reload()
  await page.getByText('This link is incomplete').waitFor()
  const all = await everythingIn(page)
  expect([all.includes(token), all.includes(alice.email)]).toEqual([false, false])
  forgive(faults, /^answer: 401 GET /, LOST_ANSWER)
})

browserTest('a link for a new password is not left to the next person after signing out in another tab', async () => {
  const world = await shop()
  const alice = await customer(world, 'Alice')
  const { page, faults } = await openBrowser(world, '/reset#token=skp_reset_made_up', { as: alice })
  await page.getByRole('button', { name: 'Set password' }).waitFor()
  await signOutElsewhere(page)
  await page.getByRole('button', { name: 'Set password' }).waitFor({ state: 'detached' })
  expect(await everythingIn(page)).not.toContain('skp_reset_made_up')
  forgive(faults, /^answer: 401 GET /, LOST_ANSWER)
})

const storesIn = (page: Page) => page.evaluate(`localStorage.getItem('storekeeper.stores')`)

browserTest('which store was open is forgotten when its reader signs out, also in another tab', async () => {
  const { page, faults, alice, world } = await alicesPage(({ store }) => `/stores/${store.id}/addresses`)
  await expect.poll(() => storesIn(page)).toContain(world.store.id)
  const tab = await signOutElsewhere(page)
  await page.waitForURL('**/sign-in?**')
  await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
  expect(await storesIn(page)).toBe(null)

  await fillSignIn(tab, alice)
  await tab.getByRole('button', { name: 'Sign in', exact: true }).click()
  await pageOf(page, 'Alice')
  await expect.poll(() => storesIn(page)).toContain(world.store.id)
  await tab.close()
  await signOutByMenu(page)
  await page.goto(`/stores/${world.store.id}/addresses`)
  await page.waitForURL('**/sign-in?**')
  await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
  expect(await storesIn(page)).toBe(null)
  forgive(faults, /^answer: 401 GET /, LOST_ANSWER)
})

browserTest('the way back to a store, below what is covered, does not note the store again', async () => {
  const { page, faults, alice, world } = await alicesPage(({ store }) => `/stores/${store.id}/addresses`)
  await page.getByRole('button', { name: /^Account/ }).click()
  await page.getByRole('menuitem', { name: 'Account' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill(TYPED)
  await signOutElsewhere(page)
  const overlay = page.getByRole('dialog', { name: 'Sign in again' })
  await overlay.waitFor()
  await page.goBack()
  await page.locator('h1', { hasText: 'My addresses' }).waitFor({ state: 'attached' })
  expect(await storesIn(page)).toBe(null)
  await fillSignIn(page, alice)
  await overlay.getByRole('button', { name: 'Sign in', exact: true }).click()
  await expect.poll(() => storesIn(page)).toContain(world.store.id)
  forgive(faults, /^answer: 401 GET /, LOST_ANSWER)
})

/** The first answer to such a request waits until the test lets it through. */
async function holdAnswer(page: Page, url: string) {
  let [answer, release] = [() => {}, () => {}]
  const answered = new Promise<void>((resolve) => {
    answer = resolve
  })
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const hold = async (route: Route) => {
    const response = await route.fetch()
    answer()
    await released
    await route.fulfill({ response })
  }
  await page.route(url, hold, { times: 1 })
  return { answered, release }
}

/** What it returns waits until the page has heard this news of another tab. */
async function listenFor(page: Page, news: 'known' | 'signed out') {
  await page.evaluate(
    `window.news = new Promise((resolve) => {
       new BroadcastChannel('storekeeper.session').addEventListener('message', ({ data }) => data.is === '${news}' && resolve())
     })
     undefined`,
  )
  // A page that leaves has heard it.
  return () => page.evaluate('window.news').catch(() => {})
}

for (const [what, url, isKnown] of [
  ['had not heard who is signed in', '**/v1/user', false],
  ['knew who is signed in', '**/assets/shell-*.js', true],
] as const)
  browserTest(
    `a page that was still loading, and ${what}, does not show somebody who signs out meanwhile`,
    async () => {
      const { page, context, faults, alice } = await alicesPage(() => '/stores')
      const next = await context.newPage()
      const { answered, release } = await holdAnswer(next, url)
      const known = await listenFor(page, 'known')
      await next.goto('/stores', { waitUntil: 'commit' })
      await answered
      if (isKnown) await known()
      const signedOut = await listenFor(next, 'signed out')
      await signOutByMenu(page)
      await signedOut()
      release()
      const signIn = next.getByRole('button', { name: 'Sign in', exact: true })
      await signIn
        .or(next.getByRole('button', { name: 'Account: Alice' }))
        .first()
        .waitFor()
      expect(await everythingIn(next)).not.toContain(alice.email)
      expect(new URL(next.url()).pathname).toBe('/sign-in')
      forgive(faults, /^answer: 401 GET /, LOST_ANSWER)
    },
  )
