import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { NEW_ADDRESS, type Shop, shop } from '../../../tests/shop.ts'
import { browserTest, forgive, openBrowser } from './browser.ts'
import { expectAccessible, expectNarrow } from './looks.ts'

const field = (page: Page, name: string) => page.getByRole('textbox', { name, exact: true })
const country = (page: Page) => page.getByRole('combobox', { name: 'Country or region' })
const label = (page: Page) => page.locator('.label-panel address')

async function chooseCountry(page: Page, search: string, name: string): Promise<void> {
  await country(page).fill(search)
  await page.getByRole('option', { name }).first().click()
}

/** The names of the fields, from the top to the bottom. */
const fieldNames = (page: Page) =>
  page.evaluate<string[]>(`[...document.querySelectorAll('.address-fields [name]')].map(({ name }) => name)`)

browserTest('a shopper adds a Brazilian and a Japanese address, each in the form of its country', async () => {
  const world = await shop()
  const customer = await world.member('CUSTOMER')
  const { page } = await openBrowser(world, `/stores/${world.store.id}`, { as: customer, locale: 'pt-BR' })
  await page.getByText('No address yet').waitFor()
  await expectAccessible(page)
  await page.getByRole('link', { name: 'New address' }).first().click()

  // The browser's region is the country to begin with.
  await field(page, 'CEP').waitFor()
  expect(await country(page).inputValue()).toBe('Brazil')
  expect((await fieldNames(page)).slice(0, 4)).toEqual(['company', 'firstName', 'lastName', 'addressLine1'])
  await field(page, 'First name').fill('Ana')
  await field(page, 'Address').fill('Av. Paulista 1578')
  await field(page, 'City').fill('São Paulo')
  await page.getByRole('combobox', { name: 'State' }).selectOption({ label: 'São Paulo' })
  await field(page, 'CEP').fill('1')
  await field(page, 'Phone').focus()
  await page.getByText('This is not a CEP of Brazil.').waitFor()
  expect(await field(page, 'CEP').getAttribute('aria-invalid')).toBe('true')
  await expectAccessible(page)
  await field(page, 'CEP').fill('01310200')
  await page.getByText('Will be saved as 01310-200').waitFor()
  await expect.poll(() => label(page).innerText()).toBe('Ana\nAv. Paulista 1578\nSão Paulo-SP\n01310-200\nBRAZIL')
  await field(page, 'Tax number').fill('529.982.247-25')
  await page.getByText('Will be saved as 52998224725').waitFor()
  await expectNarrow(page)
  await page.getByRole('button', { name: 'Save address' }).click()
  await page.getByRole('article', { name: 'Ana' }).getByText('Default').waitFor()
  await page.getByRole('article', { name: 'Ana' }).getByText('Tax number: 52998224725').waitFor()

  await page.getByRole('link', { name: 'New address' }).click()
  await chooseCountry(page, '日本', 'Japan')
  await page.getByRole('combobox', { name: 'Prefecture' }).selectOption({ label: 'Tokyo (東京都)' })
  expect((await fieldNames(page)).slice(0, 4)).toEqual(['postalCode', 'state', 'city', 'addressLine1'])
  await field(page, 'Postal code').fill('〒1000014')
  await field(page, 'City').fill('千代田区')
  await field(page, 'Address').fill('永田町1-7-1')
  await field(page, 'Last name').fill('山田')
  await field(page, 'First name').fill('太郎')
  await expect.poll(() => label(page).innerText()).toBe('〒100-0014\n東京都千代田区\n永田町1-7-1\n山田 太郎\nJAPAN')
  await page.getByRole('checkbox', { name: 'Use as the default address' }).check()
  // Enter saves, from any field.
  await page.keyboard.press('Enter')
  await page.getByRole('article', { name: '〒100-0014' }).getByText('Default').waitFor()

  await page.getByRole('button', { name: 'Make default: Ana' }).click()
  await page.getByRole('article', { name: 'Ana' }).getByText('Default').waitFor()
  await expectAccessible(page)
  await expectNarrow(page)
  await page.getByRole('button', { name: 'Delete: Ana' }).click()
  await page.getByRole('dialog').getByText('Av. Paulista 1578').waitFor()
  await expectAccessible(page)
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await expect.poll(() => page.getByRole('article').count()).toBe(1)
})

browserTest('nothing moves away under a click: what is said of the field that it leaves is said after it', async () => {
  const world = await shop()
  const { page, faults } = await openBrowser(world, `/stores/${world.store.id}/addresses/new`, { as: world.owner })
  const said = page.getByText('This is not a ZIP code of the United States.')
  const checked = page.waitForResponse((response) => /"postalCode":"1"/.test(response.request().postData() ?? ''))
  await field(page, 'ZIP code').fill('1')
  await checked
  const save = page.getByRole('button', { name: 'Save address' })
  await save.hover()
  // A button that is pressed moves a little itself.
  const place = () => save.locator('..').evaluate((group) => group.getBoundingClientRect().top)
  const before = await place()
  await page.mouse.down()
  await page.waitForFunction('document.activeElement.name !== "postalCode"')
  await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))')
  expect([await place(), await said.count()]).toEqual([before, 0])
  const sent = page.waitForResponse((response) => response.status() === 422)
  await page.mouse.up()
  await Promise.all([sent, said.waitFor()])
  expect(await place()).toBeGreaterThan(before)
  forgive(faults, '422 POST /v1/store/*/billing')
})

browserTest('a change of country keeps what was typed, and clears only a state that is not there', async () => {
  const world = await shop()
  const { page, faults } = await openBrowser(world, `/stores/${world.store.id}/addresses/new`, { as: world.owner })
  await field(page, 'First name').fill('Ada')
  await field(page, 'City').fill('Brasov')
  await page.getByRole('combobox', { name: 'State' }).selectOption('CA')
  await field(page, 'ZIP code').fill('1')
  await field(page, 'Phone').fill('+44 20 7946 0958')
  await field(page, 'Tax number').focus()
  await page.getByText('This is not a ZIP code of the United States.').waitFor()
  await page.getByText('This phone number is from the United Kingdom').waitFor()

  // As a browser fills it in: in the plain select behind.
  await page.locator('select[autocomplete="billing country"]').selectOption('RO', { force: true })
  await page.getByText('“CA” is not in Romania').waitFor()
  expect(await country(page).inputValue()).toBe('Romania')
  expect(await page.getByText('of the United States').count()).toBe(0)
  expect([await field(page, 'First name').inputValue(), await field(page, 'City').inputValue()]).toEqual([
    'Ada',
    'Brasov',
  ])
  expect(await field(page, 'First name').getAttribute('autocomplete')).toBe('billing given-name')

  // What only looks wrong is said with what may have been meant.
  const county = page.getByRole('combobox', { name: 'County' })
  await county.fill('Brasow')
  await field(page, 'City').focus()
  await page.getByRole('button', { name: 'Use Brașov' }).click()
  expect(await county.inputValue()).toBe('BV')

  await county.fill('')
  await chooseCountry(page, 'USA', 'United States')
  await expect.poll(() => page.getByRole('combobox', { name: 'State' }).inputValue()).toBe('CA')
  expect(await page.getByText('is not in').count()).toBe(0)

  // What is said late moves the buttons: a click that began before would be lost.
  await page.getByText('This is not a ZIP code of the United States.').waitFor()

  // A draft is there when one comes back, and nowhere but in memory.
  await page.getByRole('link', { name: 'Cancel' }).click()
  await page.getByRole('link', { name: 'New address' }).first().click()
  await page.getByText('This is what you typed earlier').waitFor()
  expect(await field(page, 'First name').inputValue()).toBe('Ada')
  expect(await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])')).not.toContain('Ada')

  // What is missing is said at its field, and the first of them has the focus.
  await field(page, 'First name').fill('')
  await page.getByRole('button', { name: 'Save address' }).click()
  await page.getByText('Enter a first name, a last name, or a company.').waitFor()
  await expect.poll(() => page.evaluate('document.activeElement.name')).toBe('firstName')
  // As above: what is said late would move the button under the click.
  await page.getByText('This is not a ZIP code of the United States.').waitFor()
  await page.getByRole('button', { name: 'Discard' }).click()
  await expect.poll(() => field(page, 'City').inputValue()).toBe('')
  forgive(faults, '422 POST /v1/store/*/billing')
})

const created = async ({ api, billing, owner }: Shop) =>
  (await api.post(billing, NEW_ADDRESS, { as: owner.token })).body as { id: string }

browserTest('two editors: their change beside mine, and nothing lost', async () => {
  const world = await shop()
  const { api, billing, owner, store } = world
  const { id } = await created(world)
  const { page, faults } = await openBrowser(world, `/stores/${store.id}/addresses/${id}`, { as: owner })
  await field(page, 'Address').fill('2 Infinite Loop')
  await api.patch(`${billing}/${id}`, { city: 'Palo Alto', postalCode: '94301' }, { as: owner.token })
  await page.getByRole('button', { name: 'Save address' }).click()
  const conflict = page.getByRole('alert')
  await conflict.getByText('Somebody else has changed this meanwhile').waitFor()
  await conflict.getByRole('row', { name: 'City Palo Alto Cupertino' }).waitFor()
  await conflict.getByRole('row', { name: 'Address 1 Infinite Loop 2 Infinite Loop' }).waitFor()
  await expectAccessible(page)
  await expectNarrow(page)
  await conflict.getByRole('button', { name: 'Discard mine' }).click()
  expect([await field(page, 'City').inputValue(), await field(page, 'Address').inputValue()]).toEqual([
    'Palo Alto',
    '1 Infinite Loop',
  ])
  await field(page, 'Address').fill('3 Infinite Loop')
  await page.getByRole('button', { name: 'Save address' }).click()
  await page.getByRole('article', { name: 'Ada Lovelace' }).getByText('3 Infinite Loop').waitFor()
  forgive(faults, '412 PATCH /v1/store/*/billing/*')
})

browserTest('versions: what changed, a link to one, and using an old one again', async () => {
  const world = await shop()
  const { api, billing, owner, store } = world
  const { id } = await created(world)
  await api.patch(`${billing}/${id}`, { addressLine1: '2 Infinite Loop', phone: null }, { as: owner.token })
  const { page } = await openBrowser(world, `/stores/${store.id}/addresses/${id}/versions?version=1`, { as: owner })
  await page.getByRole('link', { name: 'Version 2' }).waitFor()
  const changed = page.getByRole('list', { name: 'Changed' })
  expect(await changed.getByRole('listitem').allInnerTexts()).toEqual([
    'Address: 1 Infinite Loop → 2 Infinite Loop',
    'Phone: +14085550123 → (nothing)',
  ])
  expect(await page.locator('[aria-current=true]').innerText()).toContain('1 Infinite Loop')
  await expectAccessible(page)
  await expectNarrow(page)
  await page.getByRole('button', { name: 'Use this again' }).click()
  await page.getByText('Filled in from version 1.').waitFor()
  expect(await field(page, 'Phone').inputValue()).toBe('+14085550123')
  await page.getByRole('button', { name: 'Save address' }).click()
  await page.getByRole('article', { name: 'Ada Lovelace' }).getByText('1 Infinite Loop').waitFor()
  const { body } = await api.get(`${billing}/${id}`, { as: owner.token })
  expect(body).toMatchObject({ version: 3, phone: '+14085550123', isDefault: true })
})
