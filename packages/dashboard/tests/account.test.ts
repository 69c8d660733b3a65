// The account: profile, password, sessions, second factors, export and erasing, as somebody goes through them.

import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { MINUTE, nowMs, travel } from '../../../src/core/clock.ts'
import { totpCode, totpStep } from '../../../src/crypto/totp.ts'
import { fromBase32 } from '../../../tests/authenticator.ts'
import { shop } from '../../../tests/shop.ts'
import { browserTest, everythingIn, forgive, openBrowser } from './browser.ts'
import { addAuthenticator, atLocalhost, fillSignIn, signOutByMenu } from './flows.ts'
import { expectAccessible } from './looks.ts'

const NEW_PASSWORD = 'seven bicycles under one umbrella'
const FIREFOX = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0'

browserTest('name, mails, password and sessions are kept in order', async () => {
  const world = await shop()
  const { api, person } = world
  const ada = await person('Ada')
  const { email, password } = ada
  for (const agent of [FIREFOX, 'curl/8.5.0'])
    await api.post('/v1/auth/sign-in', { email, password }, { headers: { 'user-agent': agent } })
  const { page, faults } = await openBrowser(world, '/account', { as: ada })
  await page.getByRole('textbox', { name: 'Name' }).fill('Ada King')
  // What is not saved is not lost by a click.
  for (const way of [page.getByRole('link', { name: 'Storekeeper' }), page.getByRole('tab', { name: 'Sessions' })]) {
    await way.click()
    await expectAccessible(page)
    await page.getByRole('dialog').getByRole('button', { name: 'Keep editing' }).click()
    expect(await page.getByRole('textbox', { name: 'Name' }).inputValue()).toBe('Ada King')
  }
  await page.getByRole('region', { name: 'Your name' }).getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved.').waitFor()
  await page.getByRole('switch', { name: 'New sign-ins' }).click()
  await expect
    .poll(async () => (await api.get('/v1/user', { as: ada.token })).body.user)
    .toMatchObject({
      name: 'Ada King',
      mail: { newSignIns: false, leakedKeys: true, expiringKeys: true },
    })
  await expectAccessible(page)

  await page.getByRole('tab', { name: 'Sessions' }).click()
  await page.waitForURL('**/account/sessions')
  await page.getByText('Firefox on Windows').waitFor()
  await page.getByText('curl', { exact: true }).waitFor()
  await expectAccessible(page)
  expect(await page.getByText('this browser').count()).toBe(1)
  await page.getByRole('button', { name: 'End the session of curl' }).click()
  await expect.poll(() => page.getByText('curl', { exact: true }).count()).toBe(0)
  await page.getByRole('button', { name: 'End the other session' }).click()
  await expectAccessible(page)
  await page.getByRole('dialog').getByRole('button', { name: 'End', exact: true }).click()
  await expect.poll(() => page.getByText('Firefox on Windows').count()).toBe(0)

  await page.getByRole('tab', { name: 'Security' }).click()
  await page.getByLabel('Current password').fill('a wrong one')
  await page.getByLabel('New password').fill(NEW_PASSWORD)
  await page.getByRole('button', { name: 'Change password' }).click()
  await page.getByText('This is not your current password.').waitFor()
  await expectAccessible(page)
  await page.getByLabel('Current password').fill(password)
  await page.getByRole('button', { name: 'Change password' }).click()
  await page.getByText('Your password was changed').waitFor()
  expect((await api.post('/v1/auth/sign-in', { email, password: NEW_PASSWORD })).status).toBe(200)
  expect(await everythingIn(page)).not.toContain(NEW_PASSWORD)
  forgive(faults, '401 POST /v1/user/password')
})

browserTest('an app is set up, asked for, confirmed in place, and removed', async () => {
  const world = atLocalhost(await shop({ alone: true }))
  const ada = await world.person('Ada')
  const { page, faults } = await openBrowser(world, '/account/security', { as: ada })
  await page.getByRole('button', { name: 'Set up an app' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('img', { name: 'QR code' }).waitFor()
  await expectAccessible(page)
  const secret = ((await page.getByTestId('totp-secret').textContent()) ?? '').replaceAll(' ', '')
  const code = () => totpCode(fromBase32(secret), totpStep(nowMs()))
  const wrong = String((Number(code()) + 7) % 1_000_000).padStart(6, '0')
  await dialog.getByLabel('Code from the app').fill(wrong)
  await dialog.getByRole('button', { name: 'Confirm' }).click()
  await expect.poll(() => dialog.getByLabel('Code from the app').getAttribute('aria-invalid')).toBe('true')
  await dialog.getByLabel('Code from the app').fill(code())
  await dialog.getByRole('button', { name: 'Confirm' }).click()
  const codes = page.getByTestId('recovery-codes').locator('code')
  await codes.first().waitFor()
  const first = (await codes.first().textContent()) as string
  expect([await codes.count(), await dialog.getByRole('button', { name: 'Done' }).isDisabled()]).toEqual([10, true])
  await page.keyboard.press('Escape')
  await expectAccessible(page)
  const download = page.waitForEvent('download')
  await dialog.getByRole('link', { name: 'Download' }).click()
  expect(readFileSync(await (await download).path(), 'utf8').split('\n')[0]).toBe(first)
  await dialog.getByRole('button', { name: 'Done' }).click()
  await page.getByText('10 codes are left.').waitFor()
  expect(await everythingIn(page)).not.toMatch(new RegExp(`${first}|${secret}`))

  // Later, new codes ask for a sign-in above the page, with the app, and go on.
  travel(11 * MINUTE)
  await page.getByRole('button', { name: 'New recovery codes' }).click()
  const again = page.getByRole('dialog', { name: 'Confirm that it is you' })
  await again.getByLabel(/^Password/).fill(ada.password)
  await again.getByRole('button', { name: 'Sign in', exact: true }).click()
  await again.getByRole('textbox', { name: 'Code' }).fill(code())
  await again.getByRole('button', { name: 'Continue' }).click()
  await codes.first().waitFor()
  expect(await codes.first().textContent()).not.toBe(first)
  await dialog.getByRole('checkbox', { name: 'I have saved them' }).check()
  await dialog.getByRole('button', { name: 'Done' }).click()

  // Whoever takes too long for the code begins again.
  await signOutByMenu(page)
  await fillSignIn(page, ada)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('textbox', { name: 'Code' }).waitFor()
  travel(17 * MINUTE)
  await page.getByRole('textbox', { name: 'Code' }).fill(code())
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText('Signing in took too long. Start again.').waitFor()
  await fillSignIn(page, ada)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('textbox', { name: 'Code' }).fill(code())
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('heading', { name: 'Stores' }).waitFor()
  await page.goto('/account/security')
  await page.getByRole('button', { name: 'Remove the app' }).click()
  await dialog.getByRole('button', { name: 'Remove the app' }).click()
  await page.getByRole('button', { name: 'Set up an app' }).waitFor()
  forgive(
    faults,
    '422 POST /v1/user/totp/confirm',
    '403 POST /v1/user/recovery-codes',
    '401 POST /v1/auth/sign-in',
    '401 POST /v1/auth/second-factor',
  )
})

browserTest('a passkey signs in alone, is the second factor of a password, and is removed', async () => {
  const world = atLocalhost(await shop())
  const ada = await world.person('Ada')
  const { page, faults } = await openBrowser(world, '/account/security', { as: ada })
  await addAuthenticator(page)
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('textbox', { name: 'Name' }).fill('Laptop')
  await dialog.getByRole('button', { name: 'Continue' }).click()
  await dialog.getByRole('checkbox', { name: 'I have saved them' }).check()
  await dialog.getByRole('button', { name: 'Done' }).click()
  await page.getByText('Laptop').waitFor()
  await expectAccessible(page)

  await signOutByMenu(page)
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  await page.getByRole('heading', { name: 'Stores' }).waitFor()
  await signOutByMenu(page)
  await fillSignIn(page, ada)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('button', { name: 'Use your passkey' }).click()
  await page.getByRole('heading', { name: 'Stores' }).waitFor()

  await page.goto('/account/security')
  await page.getByRole('button', { name: 'Remove “Laptop”' }).click()
  await dialog.getByRole('button', { name: 'Remove', exact: true }).click()
  await expect.poll(() => page.getByText('Laptop').count()).toBe(0)
  forgive(faults, '401 POST /v1/auth/sign-in')
})

browserTest('an export is saved when it is whole, and an account is erased in steps', async () => {
  const world = await shop({ alone: true })
  const { api, owner, store, member } = world
  const { page, faults } = await openBrowser(world, '/account/data', { as: owner })
  await page.route('**/v1/user/export', (route) => route.fulfill({ body: '{"user":{"name":"Oli' }))
  await page.getByRole('button', { name: 'Export' }).click()
  await page.getByText('The file ended early, so it was not saved.').waitFor()
  await page.unroute('**/v1/user/export')
  const saved = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Export' }).click()
  await page.getByText('The file is whole').waitFor()
  const file = JSON.parse(readFileSync(await (await saved).path(), 'utf8'))
  expect(file).toMatchObject({ user: { id: owner.id }, memberships: [{ storeId: store.id }] })
  await expectAccessible(page)

  // The only owner of a store hands it over first.
  await page.getByRole('button', { name: 'Erase account' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('The shop').waitFor()
  expect(await dialog.getByRole('button', { name: 'Continue' }).isDisabled()).toBe(true)
  await expectAccessible(page)
  await member('OWNER')
  await api.post(world.keys, { name: 'Checkout', type: 'TEST', permissions: ['READ'] }, { as: owner.token })
  await page.reload()
  travel(11 * MINUTE)
  await page.getByRole('button', { name: 'Erase account' }).click()
  await dialog.getByText('No store is left without an owner.').waitFor()
  await dialog.getByRole('button', { name: 'Continue' }).click()
  await dialog.getByText('What stays').waitFor()
  await expectAccessible(page)
  await dialog.getByRole('button', { name: 'Continue' }).click()
  await dialog.getByRole('textbox').fill(owner.email)
  await expectAccessible(page)
  await dialog.getByRole('button', { name: 'Erase my account' }).click()
  const again = page.getByRole('dialog', { name: 'Confirm that it is you' })
  await again.getByLabel(/^Password/).fill(owner.password)
  await again.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('heading', { name: 'Your account is erased' }).waitFor()
  await page.getByText('Checkout').waitFor()
  await expectAccessible(page)
  expect(await page.evaluate('[localStorage.length, sessionStorage.length]')).toEqual([0, 0])
  expect((await api.post('/v1/auth/sign-in', { email: owner.email, password: owner.password })).status).toBe(401)
  forgive(faults, '403 DELETE /v1/user')
})
