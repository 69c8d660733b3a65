// What the tests of whole flows share.

import type { Page } from 'playwright-core'
import { freePort } from '../../../tests/free-port.ts'
import { apiAt, type Person, type Shop, shop } from '../../../tests/shop.ts'
import { openBrowser } from './browser.ts'

/** The shop at `localhost`: browsers have no passkeys for an IP address. */
export function atLocalhost(world: Shop): Shop {
  return { ...world, api: apiAt(world.api.url.replace('127.0.0.1', 'localhost')) }
}

/** A shop whose links lead to its own service. */
export async function publicShop(settings: (url: string) => Promise<Record<string, string>>): Promise<Shop> {
  const port = String(await freePort())
  const url = `http://localhost:${port}`
  return atLocalhost(await shop({ ...(await settings(url)), PORT: port, PUBLIC_URL: url }))
}

export async function fillSignIn(page: Page, { email, password }: Pick<Person, 'email' | 'password'>): Promise<void> {
  const field = page.getByRole('textbox', { name: 'E-mail' })
  if (await field.isEditable()) await field.fill(email)
  await page.getByLabel(/^Password/).fill(password)
}

/** An authenticator of the browser, which says yes to everything. */
export async function addAuthenticator(page: Page): Promise<void> {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
}

export async function signOutByMenu(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Account/ }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
}

export async function signOutElsewhere(page: Page): Promise<Page> {
  const tab = await page.context().newPage()
  await tab.goto('/stores')
  await signOutByMenu(tab)
  return tab
}

/** Alice and Bob, both customers of the shop; she has a page open. */
export async function alicesPage(path: (world: Shop) => string) {
  const world = await shop()
  const [alice, bob] = [await customer(world, 'Alice'), await customer(world, 'Bob')]
  const opened = await openBrowser(world, path(world), { as: alice })
  await pageOf(opened.page, 'Alice')
  return { ...opened, world, alice, bob }
}

export async function customer(world: Shop, name: string): Promise<Person> {
  const somebody = await world.member('CUSTOMER')
  await world.api.patch('/v1/user', { name }, { as: somebody.token })
  return somebody
}

export const pageOf = (page: Page, name: string) => page.getByRole('button', { name: `Account: ${name}` }).waitFor()
