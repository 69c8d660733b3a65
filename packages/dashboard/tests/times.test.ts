import { expect } from 'vitest'
import { shop } from '../../../tests/shop.ts'
import { browserTest, openBrowser } from './browser.ts'

const HOUR = 3_600_000

/** The last of them has the day on which the clocks go back in Newfoundland, of 25 hours. */
const CASES = [
  { timezoneId: 'Asia/Kolkata', now: '2026-06-10T12:00:00Z' },
  { timezoneId: 'America/St_Johns', now: '2026-06-10T12:00:00Z' },
  { timezoneId: 'America/St_Johns', now: '2026-11-03T12:00:00Z' },
  { timezoneId: 'Europe/Berlin', now: '2026-03-31T12:00:00Z' },
]

browserTest('bars are days of the reader, without gaps, whatever their clocks do', async () => {
  const world = await shop()
  const { api, owner, keys, store } = world
  for (const { timezoneId, now } of CASES) {
    const key = { name: 'Checkout', type: 'TEST', permissions: ['READ'] }
    const { id } = (await api.post(keys, key, { as: owner.token })).body
    const day = new Intl.DateTimeFormat('en-GB', {
      weekday: 'short',
      day: 'numeric',
      month: 'short',
      timeZone: timezoneId,
    })
    // Each hour counts 1, so that a day counts its hours; every third day has none.
    const end = Date.parse(now)
    const expected = new Map<string, number>()
    const hours: string[] = []
    for (let at = end - 6 * 24 * HOUR; at <= end; at += HOUR) {
      const name = day.format(at)
      const isEmpty = new Date(at).getUTCDate() % 3 === 0
      expected.set(name, (expected.get(name) ?? 0) + (isEmpty ? 0 : 1))
      if (!isEmpty) hours.push(new Date(at).toISOString())
    }
    const { page, context } = await openBrowser(world, '/found-a-key', { as: owner, timezoneId })
    await context.clock.setFixedTime(now)
    // What the service would tell at that time: it keeps hours for 90 days.
    await page.route(`**/keys/${id}/usage?*`, (route) =>
      route.fulfill({
        json: {
          data: hours.map((at) => ({ at, counts: { VALID: 1 } })),
          bySecret: { current: { counts: {}, lastUsedAt: null, sources: [] }, previous: null },
        },
      }),
    )
    await page.goto(`/stores/${store.id}/keys/${id}`)
    const rows = page.getByRole('table', { name: '7 days' }).locator('tbody tr')
    await expect.poll(() => rows.count()).toBe(7)
    const cells = await rows.locator('td').allTextContents()
    const shown = Array.from({ length: 7 }, (_, n) => [cells[3 * n], Number(cells[3 * n + 1])])
    expect(shown).toEqual([...expected])
    await context.close()
  }
})
