// Every way in: password, mailed links, invitation, identity provider; and a session that ends while somebody types.

import { expect, onTestFinished } from 'vitest'
import { newAuthenticator } from '../../../tests/authenticator.ts'
import { mailServer } from '../../../tests/mail-server.ts'
import { type OpenidProvider, openidProvider } from '../../../tests/openid-provider.ts'
import { type Shop, shop } from '../../../tests/shop.ts'
import { browserTest, everythingIn, forgive, openBrowser } from './browser.ts'
import { customer, fillSignIn, pageOf, publicShop } from './flows.ts'
import { expectAccessible } from './looks.ts'

const NEW_PASSWORD = 'seven bicycles under one umbrella'
const accepted = 'You are now a member of the store “The shop”.'
const linkIn = (text: string) => /http:\S+#token=\S+/.exec(text)?.[0] as string

browserTest('a password is set anew, and an e-mail address confirmed, by links that were mailed', async () => {
  const mails = await mailServer()
  const world = await publicShop(async () => mails.settings)
  const { api, owner, store } = world
  const { email: unconfirmed } = await world.member('STAFF')
  const { page, faults } = await openBrowser(world, `/stores/${store.id}/members`)
  await page.waitForURL(/\/sign-in\?returnTo=/)
  await fillSignIn(page, { ...owner, password: 'a wrong one' })
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('alert').getByText('The e-mail address or the password is wrong.').waitFor()
  await expectAccessible(page)
  await page.getByRole('link', { name: 'Forgot your password?' }).click()
  await page.getByRole('textbox', { name: 'E-mail' }).fill(owner.email)
  await page.getByRole('button', { name: 'Send the link' }).click()
  await page.getByText('If there is an account with this address').waitFor()
  await expectAccessible(page)

  const { text, token } = await mails.mailTo(owner.email)
  await page.goto(linkIn(text))
  const field = page.getByLabel('New password')
  await field.fill('passwordpassword')
  expect([page.url(), await everythingIn(page)]).toEqual([
    `${api.url}/reset`,
    expect.not.stringContaining(token as string),
  ])
  await page.getByRole('button', { name: 'Set password' }).click()
  await page.getByText('This password is among the first').waitFor()
  await expectAccessible(page)
  await field.fill(NEW_PASSWORD)
  await page.getByRole('button', { name: 'Set password' }).click()
  await page.getByText('Your password was changed').waitFor()
  await page.goto(linkIn(text))
  await field.fill(NEW_PASSWORD)
  await page.getByRole('button', { name: 'Set password' }).click()
  await page.getByText('This link no longer works.').waitFor()
  await page.getByRole('button', { name: 'Send the link' }).waitFor()

  // Signing in leads to the page that was asked for.
  await page.goto(`/stores/${store.id}/members`)
  await page.waitForURL(/\/sign-in\?returnTo=/)
  await fillSignIn(page, { ...owner, password: NEW_PASSWORD })
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('heading', { name: 'Members' }).waitFor()
  await page.getByText(`${unconfirmed} (not confirmed)`).waitFor()

  // A new e-mail address counts once it is confirmed, by somebody who is signed in to the account.
  const email = `new.${owner.email}`
  await page.goto('/account')
  await page.getByRole('button', { name: 'Change address' }).click()
  await page.getByLabel('New e-mail address').fill(email)
  await page.getByLabel('Current password').fill('a wrong one')
  await page.getByRole('button', { name: 'Send the link', exact: true }).click()
  await page.getByText('This is not your current password.').waitFor()
  await page.getByLabel('Current password').fill(NEW_PASSWORD)
  await page.getByRole('button', { name: 'Send the link', exact: true }).click()
  await page.getByText('Waiting for you to confirm').waitFor()
  await expectAccessible(page)
  forgive(
    faults,
    '401 GET /v1/user',
    '401 POST /v1/auth/sign-in',
    '422 POST /v1/auth/reset/confirm',
    '404 POST /v1/auth/reset/confirm',
    '401 PATCH /v1/user',
  )

  const stranger = await openBrowser(world, linkIn((await mails.mailTo(email)).text))
  await stranger.page.getByRole('button', { name: 'Confirm address' }).click()
  await stranger.page.getByText('Sign in to the account that this link was sent for').waitFor()
  await expectAccessible(stranger.page)
  await fillSignIn(stranger.page, { ...owner, password: NEW_PASSWORD })
  await stranger.page.getByRole('button', { name: 'Sign in and confirm' }).click()
  await stranger.page.getByText('Your e-mail address is confirmed.').waitFor()
  forgive(stranger.faults, '403 POST /v1/auth/confirm')
  await page.reload()
  await page.getByText(email).waitFor()
  await page.goto('/confirm')
  await page.getByText('This link is incomplete.').waitFor()
})

browserTest('a link that was opened and left is of no use to whoever comes to that page next', async () => {
  const world = await shop()
  const { page } = await openBrowser(world, '/reset#token=skp_reset_not_for_whoever_comes_next')
  const password = page.getByLabel(/^New password/)
  await password.waitFor()
  await page.reload()
  await password.waitFor()
  await page.goto('/docs')
  await page.goto('/reset')
  await page.getByText('This service does not send e-mail.').waitFor()
  expect(await password.count()).toBe(0)
  expect(await page.evaluate('JSON.stringify({ ...sessionStorage })')).not.toContain('token')
})

browserTest('a link is of no use to whoever signs in after its page was left, and goes back to it', async () => {
  const world = await shop()
  const { page } = await openBrowser(world, '/reset#token=skp_reset_not_for_whoever_comes_next')
  const password = page.getByLabel(/^New password/)
  await password.waitFor()
  await page.getByRole('link', { name: 'Back to sign-in' }).click()
  await fillSignIn(page, await customer(world, 'Bob'))
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await pageOf(page, 'Bob')
  await page.goBack()
  const ask = page.getByText('This service does not send e-mail.')
  await ask.or(password).waitFor()
  expect([new URL(page.url()).pathname, await password.count()]).toEqual(['/reset', 0])
  await page.reload()
  await ask.waitFor()
})

browserTest('a link that confirms or invites has to be opened again once its page was left', async () => {
  const world = await shop()
  const { api, owner, store } = world
  const invitation = { email: `new.${owner.email}`, role: 'STAFF' }
  const invited = await api.post(`/v1/user/store/${store.id}/invitations`, invitation, { as: owner.token })
  const { page, faults } = await openBrowser(world, `/invitation#token=${invited.body.token}`)
  const incomplete = page.getByText('This link is incomplete')
  await page.getByRole('link', { name: 'Forgot your password?' }).click()
  await page.getByText('This service does not send e-mail.').waitFor()
  await page.goBack()
  await incomplete.or(page.getByText('You are invited to The shop')).waitFor()
  expect(await incomplete.count()).toBe(1)

  await page.goto('/confirm#token=skp_confirm_made_up')
  const confirm = page.getByRole('button', { name: 'Confirm address' })
  await confirm.waitFor()
  // As a link of the dashboard does.
  await page.evaluate(`history.pushState(null, '', '/sign-in')`)
  await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
  await page.goBack()
  await incomplete.or(confirm).waitFor()
  expect(await incomplete.count()).toBe(1)
  forgive(faults, '401 GET /v1/user')
})

async function shopWithProvider(): Promise<
  Shop & { provider: OpenidProvider; invite(email: string): Promise<string> }
> {
  let provider: OpenidProvider | undefined
  const world = await publicShop(async (url) => {
    provider = await openidProvider(url)
    onTestFinished(provider.close)
    return provider.settings
  })
  const { api, owner, store } = world
  const invite = async (email: string) => {
    const path = `/v1/user/store/${store.id}/invitations`
    return `/invitation#token=${(await api.post(path, { email, role: 'STAFF' }, { as: owner.token })).body.token}`
  }
  return { ...world, provider: provider as OpenidProvider, invite }
}

browserTest('an invitation takes in somebody new, and somebody with a second factor', async () => {
  const world = await shopWithProvider()
  const { api, invite, person, owner } = world

  const email = `new.${owner.email}`
  const link = await invite(email)
  const fresh = await openBrowser(world, link)
  await fresh.page.getByText('You are invited to The shop as staff.').waitFor()
  // Phones load a page again when they need its memory.
  await fresh.page.reload()
  await fresh.page.getByText('You are invited to The shop as staff.').waitFor()
  expect(await everythingIn(fresh.page)).not.toContain(link.slice(-40))
  await fresh.page.getByText('I am new here').click()
  expect(fresh.page.url()).toBe(`${api.url}/invitation`)
  await expectAccessible(fresh.page)
  await fresh.page.getByRole('textbox', { name: 'E-mail' }).fill(email)
  // A fault is where the work goes on, and is gone with what it was about.
  const password = fresh.page.getByLabel(/^Password/)
  await password.fill('passwordpassword')
  await fresh.page.getByRole('textbox', { name: 'Name' }).fill('Ada')
  await fresh.page.keyboard.press('Enter')
  await fresh.page.getByText('This password is among the first').waitFor()
  await expect.poll(() => fresh.page.evaluate('document.activeElement.autocomplete')).toBe('new-password')
  await password.fill(NEW_PASSWORD)
  expect(await password.getAttribute('aria-invalid')).toBe(null)
  await fresh.page.getByRole('button', { name: 'Create the account and accept' }).click()
  await fresh.page.getByText(accepted).waitFor()
  expect(await everythingIn(fresh.page)).not.toContain(link.slice(-40))
  await fresh.page.getByRole('link', { name: 'Open the store' }).click()
  await fresh.page.getByRole('link', { name: 'Members' }).waitFor()
  await fresh.page.goto(link)
  await fresh.page.getByText('This invitation no longer works.').waitFor()
  await fresh.page.goto(await invite(email))
  await fresh.page.getByRole('button', { name: 'Accept invitation' }).click()
  await fresh.page.getByText('You are already a member of this store.').waitFor()
  forgive(
    fresh.faults,
    '401 GET /v1/user',
    '422 POST /v1/auth/sign-up',
    '404 POST /v1/auth/invitation',
    '409 POST /v1/user/invitations/accept',
  )

  // The wrong account, then the right one, which has a second factor.
  const [ada, other] = [await person(), await person()]
  const options = (await api.post('/v1/user/passkeys/options', undefined, { as: ada.token })).body
  const passkey = { name: 'Phone', credential: newAuthenticator(api.url).register(options) }
  const { recoveryCodes } = (await api.post('/v1/user/passkeys', passkey, { as: ada.token })).body
  const wrong = await openBrowser(world, await invite(ada.email), { as: other })
  await wrong.page.getByText(`You are signed in as ${other.email}.`).waitFor()
  await wrong.page.getByRole('button', { name: 'Accept invitation' }).click()
  await wrong.page.getByText('This invitation is for a different e-mail address.').waitFor()
  await expectAccessible(wrong.page)
  await wrong.page.getByRole('button', { name: 'Use another account' }).click()
  await fillSignIn(wrong.page, ada)
  await wrong.page.getByRole('button', { name: 'Sign in and accept' }).click()
  await wrong.page.getByRole('textbox', { name: 'Code' }).fill('123456')
  await wrong.page.getByRole('button', { name: 'Continue' }).click()
  await wrong.page.getByText('This code is wrong or was already used.').waitFor()
  await expectAccessible(wrong.page)
  await wrong.page.getByRole('textbox', { name: 'Code' }).fill(recoveryCodes[0])
  await wrong.page.getByRole('button', { name: 'Continue' }).click()
  await wrong.page.getByText(accepted).waitFor()
  forgive(
    wrong.faults,
    '403 POST /v1/user/invitations/accept',
    // For another account the page is loaded anew.
    '401 GET /v1/user',
    '401 POST /v1/auth/sign-in',
    '401 POST /v1/auth/second-factor',
  )
})

browserTest('the identity provider signs in for an invitation, and again in a tab of its own', async () => {
  const world = await shopWithProvider()
  const { provider, invite, sql } = world
  // The token waits in the tab while the browser is at the identity provider.
  provider.person = { sub: 'grace', email: 'grace@example.com', email_verified: true, name: 'Grace' }
  const grace = await openBrowser(world, await invite('grace@example.com'))
  await grace.page.getByRole('link', { name: 'Continue with single sign-on' }).click()
  await grace.page.getByText('You are signed in as grace@example.com.').waitFor()
  expect(await grace.page.evaluate('sessionStorage.length')).toBe(0)
  await grace.page.getByRole('button', { name: 'Accept invitation' }).click()
  await grace.page.getByText(accepted).waitFor()

  // Her session ends while she types. The provider signs her in again in a tab of its own, and what she typed is sent.
  await grace.page.goto('/stores/new')
  await grace.page.getByRole('textbox', { name: 'Name of the store' }).fill('Compilers')
  await sql(`delete from sessions where method = 'oidc'`)
  await grace.page.getByRole('button', { name: 'Create store' }).click()
  const dialog = grace.page.getByRole('dialog', { name: 'Sign in again' })
  await dialog.getByRole('link', { name: 'Single sign-on in a new tab' }).click()
  await grace.page.getByRole('heading', { name: 'Compilers' }).waitFor()
  expect(await dialog.count()).toBe(0)
  forgive(grace.faults, '401 GET /v1/user', '401 POST /v1/user/store')
  forgive(grace.faults, new RegExp(`^request: ${provider.issuer}/authorize`))
})

browserTest('an invitation waits ten minutes for somebody who is at the identity provider', async () => {
  const world = await shopWithProvider()
  const { page, faults } = await openBrowser(world, await world.invite('grace@example.com'), { isOwn: true })
  const opened = Date.now()
  // The provider asks, and nobody answers.
  await page.route('**/v1/auth/oidc/start?**', (route) => route.fulfill({ body: 'Who are you?' }))
  const invited = page.getByText('You are invited to The shop as staff.')
  const incomplete = page.getByText('This link is incomplete')
  const comeBackIn = async (minute: number) => {
    await page.getByRole('link', { name: 'Continue with single sign-on' }).click()
    await page.getByText('Who are you?').waitFor()
    await page.clock.setFixedTime(opened + minute * 60_000)
    await page.goto('/invitation')
    await invited.or(incomplete).waitFor()
  }
  await comeBackIn(9)
  expect(await invited.count()).toBe(1)
  await comeBackIn(20)
  expect(await incomplete.count()).toBe(1)
  expect(await page.evaluate('sessionStorage.length')).toBe(0)
  forgive(faults, '401 GET /v1/user')
})

browserTest('a session that ends while somebody types loses nothing, and the call is repeated once', async () => {
  const world = await shop()
  const { api, owner } = world
  const { page, faults } = await openBrowser(world, '/stores/new', { as: owner })
  const sent: [string | undefined, string | null][] = []
  page.on('request', (request) => {
    if (request.method() === 'POST' && request.url().endsWith('/v1/user/store'))
      sent.push([request.headers()['idempotency-key'], request.postData()])
  })
  await page.getByRole('textbox', { name: 'Name of the store' }).fill('The second shop')
  await api.post('/v1/auth/sign-out', undefined, { as: owner.token })
  await page.getByRole('button', { name: 'Create store' }).click()
  const dialog = page.getByRole('dialog', { name: 'Sign in again' })
  await dialog.waitFor()
  expect(await page.getByLabel('E-mail').inputValue()).toBe(owner.email)
  await expectAccessible(page)
  await fillSignIn(page, owner)
  await dialog.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('heading', { name: 'The second shop' }).waitFor()
  expect([sent.length, new Set(sent.map(String)).size]).toEqual([2, 1])
  const { stores } = (await api.get('/v1/user', { as: (await signIn(world, owner)).token })).body
  expect(stores.map(({ store }: { store: { name: string } }) => store.name).sort()).toEqual([
    'The second shop',
    'The shop',
  ])
  forgive(faults, '401 POST /v1/user/store')
})

const signIn = async ({ api }: Shop, { email, password }: { email: string; password: string }) =>
  (await api.post('/v1/auth/sign-in', { email, password })).body as { token: string }

browserTest('somebody who is a customer and no more lands on their addresses', async () => {
  const world = await shop()
  const customer = await world.member('CUSTOMER')
  const { page } = await openBrowser(world, '/sign-in')
  await fillSignIn(page, customer)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.waitForURL(new RegExp(`/stores/${world.store.id}/addresses$`))
})
