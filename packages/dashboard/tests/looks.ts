// What is looked at on every page, whatever it is for.

import type { Page } from 'playwright-core'
import { accessibilityFaults } from './browser.ts'

/** Faults of WCAG 2.2 AA, in the light and in the dark. */
export async function faultsInBothSchemes(page: Page): Promise<string[]> {
  const faults: string[] = []
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    faults.push(...(await accessibilityFaults(page)).map((fault) => `${colorScheme}: ${fault}`))
  }
  return faults
}

/** Whether the page scrolls sideways at 320 pixels, with the elements that stick out. */
export async function widerThanPhone(page: Page): Promise<string[]> {
  const before = page.viewportSize()
  await page.setViewportSize({ width: 320, height: 700 })
  const wide = await page.evaluate<string[]>(
    `document.documentElement.scrollWidth <= 320 ? [] : [...document.querySelectorAll('body *')]
       .filter((element) => element.getBoundingClientRect().right > 321).map((element) => element.outerHTML.slice(0, 200))`,
  )
  if (before) await page.setViewportSize(before)
  return wide
}
