import { randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import { shop } from '../../../tests/shop.ts'
import { browserTest, openBrowser } from './browser.ts'

browserTest('among a thousand keys, the picture follows a key press', async () => {
  const world = await shop()
  const { api, owner, keys, store } = world
  const lines = Array.from({ length: 990 }, (_, n) => ({
    name: `${['Checkout', 'Warehouse', 'Reports'][n % 3]} ${n}`,
    sha256: randomBytes(32).toString('hex'),
    type: 'TEST',
    permissions: ['READ'],
  }))
  expect((await api.post(`${keys}/import`, { keys: lines }, { as: owner.token })).status).toBe(200)
  const { page, context } = await openBrowser(world, `/stores/${store.id}/keys`, { as: owner })
  const search = page.getByRole('textbox', { name: 'Search keys' })
  await search.waitFor()
  await page.getByText('Show 100 more of 990').waitFor()
  await page.evaluate(`
    window.drawn = 0
    document.querySelector('input').addEventListener('keydown', () => {
      // After the frame that shows it: the callback of a frame comes before it is drawn.
      requestAnimationFrame(() => setTimeout(() => { drawn += 1 }))
    })`)
  const devtools = await context.newCDPSession(page)
  // The time that the page's thread has had a processor: how busy the machine is does not matter.
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' })
  const worked = async () => {
    const { metrics } = await devtools.send('Performance.getMetrics')
    return 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN)
  }
  await search.focus()
  const costs: number[] = []
  for (const letter of 'warehouse 97') {
    const before = await worked()
    await page.keyboard.press(letter === ' ' ? 'Space' : letter)
    await expect.poll(() => page.evaluate('drawn')).toBe(costs.length + 1)
    costs.push((await worked()) - before)
  }
  await page.getByRole('link', { name: 'Warehouse 970' }).waitFor()
  const middle = costs.toSorted((a, b) => a - b)[costs.length >> 1] as number
  expect(middle).toBeGreaterThan(0)
  expect(middle).toBeLessThan(100)
})
