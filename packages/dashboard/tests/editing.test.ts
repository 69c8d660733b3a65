import { expect } from 'vitest'
import { shop } from '../../../tests/shop.ts'
import { browserTest, everythingIn, forgive, openBrowser } from './browser.ts'
import { expectAccessible } from './looks.ts'

browserTest('two people change a key: each sees the other’s change, and both are kept', async () => {
  const world = await shop()
  const { api, owner, keys, store } = world
  const { id } = (
    await api.post(
      keys,
      { name: 'Checkout', type: 'TEST', permissions: ['READ'], credits: { remaining: 50 } },
      { as: owner.token },
    )
  ).body
  const { page, faults } = await openBrowser(world, `/stores/${store.id}/keys/${id}`, { as: owner })
  await page.getByRole('tab', { name: 'Edit' }).click()
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Till')
  await api.patch(`${keys}/${id}`, { permissions: ['READ', 'WRITE'] }, { as: owner.token })
  await api.post(`${keys}/${id}/credits`, { set: 7 }, { as: owner.token })
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  const conflict = page.getByRole('alert').filter({ hasText: 'Somebody else has changed this meanwhile' })
  await conflict.getByText('READ, WRITE').waitFor()
  await conflict.getByText('Till').waitFor()
  await expectAccessible(page)
  await conflict.getByRole('button', { name: 'Save mine' }).click()
  await page.getByRole('heading', { name: 'Till' }).waitFor()
  const { name, permissions, credits } = (await api.get(`${keys}/${id}`, { as: owner.token })).body
  expect({ name, permissions, remaining: credits.remaining }).toEqual({
    name: 'Till',
    permissions: ['READ', 'WRITE'],
    remaining: 7,
  })
  forgive(faults, '412 PATCH /v1/user/store/*/keys/*')
})

browserTest('keys from elsewhere are imported line by line, more than a thousand in parts', async () => {
  const world = await shop()
  const { api, owner, keys, store } = world
  const { page } = await openBrowser(world, `/stores/${store.id}/keys/import`, { as: owner })
  const lines = page.getByLabel('Keys', { exact: true })
  await lines.fill(
    'name;key;scopes;owner\n"Ware;house";acme_live_8fK2mQ7xZ1pL;READ WRITE;customer-42\nReports;short;READ;\n',
  )
  await page.getByText('2 keys to import').waitFor()
  await page.getByRole('cell', { name: 'acme…' }).waitFor()
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Import 2' }).click()
  await page.getByText('1 imported, 1 refused').waitFor()
  await page.getByRole('cell', { name: 'Reports' }).waitFor()
  await page.getByRole('cell', { name: /^value: / }).waitFor()
  expect(await everythingIn(page)).not.toContain('acme_live')
  // What was taken is gone; what was refused can be corrected.
  await page.getByRole('button', { name: 'Correct the refused lines' }).click()
  expect(await lines.inputValue()).toBe('name,key,scopes,owner\nReports,short,READ,\n')
  await lines.fill('name,key,scopes\nReports,acme_live_5Tq0Wn3bVc8R,READ\n')
  await page.getByRole('button', { name: 'Import 1' }).click()
  await page.getByText('1 imported', { exact: true }).waitFor()
  expect(await everythingIn(page)).not.toContain('acme_live')
  await page.getByRole('link', { name: 'Go to the keys' }).click()
  await page.getByRole('link', { name: 'Keys of customer-42' }).click()
  await page.getByText('Keys of customer-42').waitFor()
  expect((await api.get(keys, { as: owner.token })).body.data).toMatchObject([
    { name: 'Reports', permissions: ['READ'] },
    { name: 'Ware;house', permissions: ['READ', 'WRITE'], owner: 'customer-42' },
  ])

  // All of these exist after the first: the store stays small.
  await page.goto(`/stores/${store.id}/keys/import`)
  const requests: number[] = []
  page.on('request', (request) => {
    if (request.url().endsWith('/keys/import')) requests.push(JSON.parse(request.postData() as string).keys.length)
  })
  await lines.fill(Array.from({ length: 1_201 }, (_, n) => `Key ${n},acme_live_8fK2mQ7xZ1pL`).join('\n'))
  await page.getByRole('checkbox', { name: 'READ' }).check()
  await page.getByRole('button', { name: 'Import 1,201' }).click()
  await page.getByText('0 imported, 1,201 were here already').waitFor()
  expect(requests).toEqual([1_000, 201])
})
