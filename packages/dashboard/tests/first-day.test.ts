// Somebody who has never seen it: an account, a store, a key, a lost tab, a colleague, the events, and the end of the key.

import { expect } from 'vitest'
import { shop } from '../../../tests/shop.ts'
import { browserTest, everythingIn, forgive, openBrowser } from './browser.ts'
import { fillSignIn } from './flows.ts'
import { expectAccessible } from './looks.ts'

const PASSWORD = 'seven bicycles under one umbrella'

browserTest('from nothing to a key that was made, shared and revoked', async () => {
  const world = await shop()
  const email = `ada.${world.owner.email}`
  const { page, context, faults } = await openBrowser(world, '/')
  await page.getByRole('link', { name: 'Create an account' }).click()
  // The pages behind the sign-in are not loaded for somebody who cannot see them.
  expect(
    await page.evaluate(`performance.getEntriesByType('resource').filter(({ name }) => /shell/.test(name)).length`),
  ).toBe(0)
  await fillSignIn(page, { email, password: 'passwordpassword' })
  await page.getByRole('button', { name: 'Create an account' }).click()
  await page.getByText('This password is among the first').waitFor()
  await expectAccessible(page)
  await page.getByLabel(/^Password/).fill(PASSWORD)
  await page.getByRole('textbox', { name: 'Name' }).fill('Ada')
  await page.getByRole('button', { name: 'Create an account' }).click()

  await page.getByText('Start with a store').waitFor()
  await expectAccessible(page)
  await page.getByRole('main').getByRole('link', { name: 'New store' }).last().click()
  await page.getByRole('textbox', { name: 'Name of the store' }).fill('E'.repeat(101))
  await page.getByRole('button', { name: 'Create store' }).click()
  await page.getByText('This may have at most 100 characters.').waitFor()
  await page.getByRole('textbox', { name: 'Name of the store' }).fill('Engines')
  await page.getByRole('button', { name: 'Create store' }).click()
  await page.getByRole('heading', { name: 'Engines' }).waitFor()

  await page.getByRole('link', { name: 'API keys' }).click()
  await page.getByRole('link', { name: 'Create a key' }).click()
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Checkout')
  await page.getByRole('checkbox', { name: 'READ' }).check()
  await page.getByRole('button', { name: 'Create key' }).click()
  const secret = await page.getByTestId('secret').textContent()
  await page.close()

  const next = await context.newPage()
  await next.goto('/')
  await next.getByRole('button', { name: /^Show it again/ }).click()
  expect(await next.getByTestId('secret').textContent()).toBe(secret)
  await next.getByRole('checkbox', { name: 'I have saved it' }).check()
  await next.getByRole('button', { name: 'Done' }).click()

  await next.getByRole('link', { name: 'Members' }).click()
  await next.getByRole('button', { name: 'Invite somebody' }).click()
  const dialog = next.getByRole('dialog')
  await dialog.getByRole('textbox', { name: 'E-mail' }).fill(`grace.${world.owner.email}`)
  await dialog.getByRole('button', { name: 'Create the link' }).click()
  const link = (await next.getByTestId('secret').textContent()) as string
  expect(link).toMatch(new RegExp(`^${world.api.url}/invitation#token=`))
  await next.getByRole('checkbox', { name: 'I have saved it' }).check()
  await next.getByRole('button', { name: 'Done' }).click()
  await next.getByText('Open invitations').waitFor()
  expect(await everythingIn(next)).not.toContain(link.split('=')[1])

  await next.getByRole('link', { name: 'Events' }).click()
  await next.getByText('Ada created the key “Checkout”').waitFor()
  await next.getByRole('link', { name: 'API keys' }).click()
  await next.getByRole('link', { name: 'Checkout' }).click()
  await next.getByRole('button', { name: 'Revoke' }).click()
  await dialog.getByLabel('Reason').fill('It was only a try')
  await dialog.getByRole('button', { name: 'Revoke' }).click()
  await dialog.getByText('It is refused everywhere by').waitFor()
  await expectAccessible(next)
  await dialog.getByRole('button', { name: 'Done' }).click()
  await next.getByText('REVOKED').first().waitFor()
  expect(await next.getByRole('button', { name: 'Rotate' }).count()).toBe(0)
  forgive(faults, '401 GET /v1/user', '422 POST /v1/auth/sign-up', '422 POST /v1/user/store')
})
