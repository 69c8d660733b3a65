// What the tests of whole flows share.

import type { Page } from 'playwright-core'
import { freePort } from '../../../tests/free-port.ts'
import { apiAt, type Person, type Shop, shop } from '../../../tests/shop.ts'

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
