import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { NEW_ADDRESS, shop } from '../../../tests/shop.ts'
import { parseImport, partsOf } from '../src/pages/customers/import-lines.ts'
import { browserTest, forgive, openBrowser } from './browser.ts'
import { expectAccessible, expectNarrow } from './looks.ts'

/** It needs everything that an address of a page can get wrong. */
const EXTERNAL_ID = 'shop/42 50%25'

browserTest('a customer is added, gets an address, and is exported', async () => {
  const world = await shop()
  const { api, owner, store } = world
  const { page } = await openBrowser(world, `/stores/${store.id}/customers`, { as: owner })
  await page.getByText('No customers yet').waitFor()
  await expectAccessible(page)
  const dialog = page.getByRole('dialog')
  for (const isKnown of [false, true]) {
    await page.getByRole('button', { name: 'Add a customer' }).click()
    await dialog.getByLabel('Id in your system').fill(EXTERNAL_ID)
    await dialog.getByLabel('Name').fill('Ada Lovelace')
    if (!isKnown) await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Add' }).click()
    if (isKnown) await dialog.getByRole('link', { name: 'Open it' }).click()
    await page.getByRole('heading', { name: 'Ada Lovelace' }).waitFor()
    if (isKnown) break
    await page.getByRole('link', { name: 'Customers' }).click()
  }
  await page.getByRole('link', { name: 'New address' }).first().click()
  await page.reload()
  await page.getByLabel('First name').fill('Ada')
  // Not the address of whoever sits before the browser.
  expect(await page.getByLabel('First name').getAttribute('autocomplete')).toBe('off')
  await page.getByRole('textbox', { name: 'Address', exact: true }).fill('1 Infinite Loop')
  await page.getByLabel('City').fill('Cupertino')
  await page.getByLabel('State').selectOption('CA')
  await page.getByLabel('ZIP code').fill('95014')
  await page.getByRole('button', { name: 'Save address' }).click()
  await page.getByRole('article', { name: 'Ada' }).waitFor()
  await expectAccessible(page)
  await expectNarrow(page)

  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export' }).click(),
  ])
  const exported = JSON.parse(await readFile(await download.path(), 'utf8'))
  expect(exported).toMatchObject({ customer: { externalId: EXTERNAL_ID }, addresses: [{ city: 'Cupertino' }] })

  await page.getByRole('tab', { name: 'Details' }).click()
  await page.getByLabel('E-mail').fill('ada@example.com')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved.').waitFor()
  const path = `/v1/user/store/${store.id}/customers/${encodeURIComponent(EXTERNAL_ID)}`
  expect((await api.get(path, { as: owner.token })).body).toMatchObject({ email: 'ada@example.com' })
})

browserTest('an invoice: whose, at which moment, on hold, and what is left when they are erased', async () => {
  const world = await shop()
  const { api, owner, store } = world
  const customers = `/v1/user/store/${store.id}/customers`
  const { body: customer } = await api.put(`${customers}/c-7`, { name: 'Grace' }, { as: owner.token })
  const post = async (address: object) =>
    (await api.post(`${customers}/c-7/billing`, address, { as: owner.token })).body as { id: string; createdAt: string }
  const first = await post(NEW_ADDRESS)
  const second = await post({ ...NEW_ADDRESS, firstName: 'Grace', isDefault: true })
  await api.patch(`${customers}/c-7/billing/${first.id}`, { city: 'Palo Alto' }, { as: owner.token })

  const { page, faults } = await openBrowser(world, `/stores/${store.id}/invoicing`, { as: owner })
  const found = page.getByRole('navigation', { name: 'People found' })
  await found.getByText('Olive Owner').waitFor()
  await page.getByLabel('Whose invoice').fill('c-7')
  await found.getByRole('button', { name: /^Grace/ }).waitFor()
  await expect.poll(() => found.getByText('Olive Owner').count()).toBe(0)
  await expectAccessible(page)
  await page.getByRole('button', { name: /^Grace/ }).click()
  await page.getByRole('article', { name: 'Grace Lovelace' }).getByText('Default').waitFor()
  await expectAccessible(page)
  await expectNarrow(page)

  // At the moment of the first address it was the default, and its text another.
  await page.goto(`/stores/${store.id}/invoicing?user=${customer.id}&at=${first.createdAt}`)
  const then = page.getByRole('article', { name: 'Ada Lovelace' })
  await then.getByText('default then').waitFor()
  expect(await page.getByRole('article').count()).toBe(1)
  expect(await then.innerText()).toContain('Cupertino')
  await then.getByRole('button', { name: 'Put on hold' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Put on hold' }).click()
  await expect.poll(() => dialog.getByLabel('Reason').getAttribute('aria-invalid')).toBe('true')
  await dialog.getByLabel('Reason').fill('Invoice 2026-0042')
  await dialog.getByRole('button', { name: '6 years' }).click()
  await expectAccessible(page)
  await dialog.getByRole('button', { name: 'Put on hold' }).click()
  await then.getByText('On hold until').waitFor()

  await page.goto(`/stores/${store.id}/customers/c-7`)
  await page.getByRole('tab', { name: 'Erase' }).click()
  await page.getByRole('button', { name: 'Erase' }).click()
  await dialog.getByLabel('Type c-7 to go on').fill('c-7')
  await expectAccessible(page)
  await dialog.getByRole('button', { name: 'Erase' }).click()
  await dialog.getByText('Invoice 2026-0042').waitFor()
  await expectAccessible(page)
  await dialog.getByRole('link', { name: `${first.id} 1` }).click()
  await page.getByText('1 Infinite Loop').waitFor()
  await page.getByText('What is left for tax: US, CA, 95014.').waitFor()
  await expectAccessible(page)
  await expectNarrow(page)
  await page.getByRole('button', { name: 'End the hold' }).click()
  await dialog.getByRole('button', { name: 'End the hold' }).click()
  await expect.poll(() => page.getByText('1 Infinite Loop').count()).toBe(0)

  // Whoever is erased is found by the id on the invoice.
  await page.goto(`/stores/${store.id}/invoicing`)
  await page.getByLabel('Whose invoice').fill(second.id)
  await page.getByRole('button', { name: customer.id }).click()
  await page.getByRole('article').first().getByText('Erased.').waitFor()
  // The hold without a reason, and the member who is none.
  forgive(faults, '422 POST /v1/user/store/*/billing/*/versions/1/hold', '404 GET /v1/user/store/*/members/*')
})

browserTest('lines are imported with a preview, and each is answered', async () => {
  const world = await shop()
  const { page } = await openBrowser(world, `/stores/${world.store.id}/import-customers`, { as: world.owner })
  await page.getByLabel('JSON or CSV').fill('name\nAda')
  await page.getByText('no column called externalId').waitFor()
  await page
    .getByLabel('JSON or CSV')
    .fill(
      [
        'external_id;Name;Company;Address line 1;City;Postal code;Country;Notes',
        'c-1;"Lovelace, Ada";Engines;1 High Street;London;SW1A 1AA;GB;x',
        'c-1;;Engines;Hauptstr. 5;Berlin;10115;Germany;',
        'c-2;Bad;Bad;Somewhere 1;Berlin;1;DE;',
        'c-3;Nobody yet;;;;;;',
      ].join('\n'),
    )
  await page.getByText('3 customers, 3 addresses').waitFor()
  await page.getByText('are left out: Notes.').waitFor()
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Import 3 customers' }).click()
  await page.getByText(/2 created, 0 updated, 1 failed/).waitFor()
  await page.getByText('addresses/0/postalCode:').waitFor()
  await expectAccessible(page)
  await expectNarrow(page)
})

test('what was pasted: CSV with quotes and line breaks, JSON, lines of JSON, and parts that fit', () => {
  expect(parseImport('externalId,name\r\n1,"a ""b"",\r\nc"\r\n\r\n').lines).toEqual([
    { externalId: '1', name: 'a "b",\r\nc', addresses: [] },
  ])
  const line = { externalId: '1', email: 'a@example.com' }
  for (const text of [[line], { customers: [line] }].map((given) => JSON.stringify(given)))
    expect(parseImport(text).lines).toEqual([line])
  expect(parseImport(`${JSON.stringify(line)}\n${JSON.stringify(line)}\n`).lines).toEqual([line, line])
  expect(() => parseImport('externalId\n"1')).toThrow('line 2')
  expect(() => parseImport('[{')).toThrow('JSON')
  expect(() => parseImport('[1]')).toThrow('externalId')
  const many = Array.from({ length: 2_500 }, (_, n) => ({ externalId: String(n) }))
  expect(partsOf(many).map(({ length }) => length)).toEqual([1000, 1000, 500])
  const crowd = many.map(({ externalId }) => ({ externalId, addresses: Array(10).fill({ country: 'US' }) }))
  expect(partsOf(crowd).map(({ length }) => length)).toEqual([500, 500, 500, 500, 500])
  expect(
    partsOf([{ externalId: '1', name: 'x'.repeat(1.5e6) }, line, { externalId: '2', name: 'x'.repeat(1e6) }]),
  ).toHaveLength(2)
})

browserTest('an address of the page with a moment that is none shows the addresses of now', async () => {
  const world = await shop()
  const { api, owner, store } = world
  const { body: customer } = await api.put(`/v1/user/store/${store.id}/customers/c-7`, {}, { as: owner.token })
  const path = `/stores/${store.id}/invoicing?user=${customer.id}`
  const { page } = await openBrowser(world, `${path}&at=constructor`, { as: owner, timezoneId: 'Asia/Tokyo' })
  for (const at of ['constructor', '2026-02-31T25:00', '%2B275760-09-13T00:00:00Z', '']) {
    await page.goto(`${path}&at=${at}`)
    await page.getByText('They had none in this store until now.').waitFor()
  }
})
