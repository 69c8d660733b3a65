// What is looked at on every page, whatever it is for.

import type { Page } from 'playwright-core'
import { accessibilityFaults, type Faults } from './browser.ts'

/** Faults of WCAG 2.2 AA, in the light and in the dark. */
export async function faultsInBothSchemes(page: Page): Promise<string[]> {
  const faults: string[] = []
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await page.evaluate(settled(`document.documentElement.dataset.mantineColorScheme === '${colorScheme}'`))
    faults.push(...(await accessibilityFaults(page)).map((fault) => `${colorScheme}: ${fault}`))
  }
  return faults
}

/** Colours are handed down from element to element, a frame each: waits until what is asked is true and nothing changes. */
const settled = (condition: string) => `(async () => {
  for (let quiet = 0; quiet < 3; quiet++) {
    await new Promise(requestAnimationFrame)
    const changing = document.getAnimations().some((animation) => animation instanceof CSSTransition)
    if (changing || !(${condition})) quiet = -1
  }
})()`

/** Whether the page scrolls sideways at 320 pixels, with the elements that stick out. */
export async function widerThanPhone(page: Page): Promise<string[]> {
  const before = page.viewportSize()
  await page.setViewportSize({ width: 320, height: 700 })
  await page.evaluate(settled('innerWidth === 320'))
  const wide = await page.evaluate<string[]>(
    `document.documentElement.scrollWidth <= 320 ? [] : [...document.querySelectorAll('body *')]
       .filter((element) => element.getBoundingClientRect().right > 321).map((element) => element.outerHTML.slice(0, 200))`,
  )
  if (before) await page.setViewportSize(before)
  return wide
}

/** Takes out what the browser itself writes of answers that the test has asked for, such as 412. */
export function forgive(faults: Faults, ...statuses: number[]): void {
  const isMeant = (fault: string) => statuses.some((status) => fault.includes(`with a status of ${status} `))
  faults.splice(0, faults.length, ...faults.filter((fault) => !isMeant(fault)))
}
