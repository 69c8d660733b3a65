import { randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import { shop } from '../../../tests/shop.ts'
import { browserTest, openBrowser } from './browser.ts'

/** How long a frame takes in which nothing changes: how busy the machine is now. */
const EMPTY_FRAME = `new Promise((resolve) => {
  const begun = performance.now()
  requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - begun)))
})`
/** What such a frame takes on a machine that has nothing else to do. */
const QUIET_MS = 20

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
  const { page } = await openBrowser(world, `/stores/${store.id}/keys`, { as: owner })
  const search = page.getByRole('textbox', { name: 'Search keys' })
  await search.waitFor()
  await page.getByText('Show 100 more of 990').waitFor()
  await page.evaluate(`
    window.presses = []
    document.querySelector('input').addEventListener('keydown', () => {
      const begun = performance.now()
      // After the frame that shows it: the callback of a frame comes before it is drawn.
      requestAnimationFrame(() => setTimeout(() => presses.push(performance.now() - begun)))
    })`)
  await search.focus()
  const frames: number[] = []
  let typed = 0
  for (const letter of 'warehouse 97') {
    await page.keyboard.press(letter === ' ' ? 'Space' : letter)
    typed += 1
    await expect.poll(() => page.evaluate('presses.length')).toBe(typed)
    frames.push(await page.evaluate<number>(EMPTY_FRAME))
  }
  await page.getByRole('link', { name: 'Warehouse 970' }).waitFor()
  const presses = await page.evaluate<number[]>('presses')
  const middle = (values: number[]) => [...values].sort((a, b) => a - b)[values.length >> 1] as number
  const busy = Math.max(1, middle(frames) / QUIET_MS)
  expect(middle(presses) / busy).toBeLessThan(100)
})
