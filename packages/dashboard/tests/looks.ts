// What is looked at on every page, whatever it is for. Scripts for a page are text: tests know nothing of a document.

import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'

const AXE = readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

type Violation = { id: string; nodes: { html: string; failureSummary: string }[] }

const SCHEMES = ['light', 'dark'] as const
export type Scheme = (typeof SCHEMES)[number]

const WCAG_2_2_AA = { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] }
/** What depends on colours; a page is otherwise the same in both schemes. */
const COLOUR_RULES = { type: 'rule', values: ['color-contrast', 'link-in-text-block'] }

/** Faults of WCAG 2.2 AA on the page as it is now, in the light and in the dark. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  // The scheme that the page is in comes first: a change of it is a new style for every element.
  const first = await schemeOf(page)
  const faults = await faultsIn(page, first, WCAG_2_2_AA)
  const second = first === 'dark' ? 'light' : 'dark'
  await page.emulateMedia({ colorScheme: second, reducedMotion: 'reduce' })
  await page.evaluate(settled(`document.documentElement.dataset.mantineColorScheme === '${second}'`))
  return [...faults, ...(await faultsIn(page, second, COLOUR_RULES))]
}

/** In the scheme that the page is in; half of the tests are in the dark (browser.ts). */
export async function expectAccessible(page: Page): Promise<void> {
  await page.evaluate(settled('true'))
  expect(await faultsIn(page, await schemeOf(page), WCAG_2_2_AA)).toEqual([])
}

const schemeOf = (page: Page) => page.evaluate<Scheme>('document.documentElement.dataset.mantineColorScheme')

/** Of an open dialog alone, since what is behind it cannot be used meanwhile. */
async function faultsIn(page: Page, scheme: Scheme, runOnly: object): Promise<string[]> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(AXE)
  const violations = await page.evaluate<Violation[]>(
    `axe.run([...document.querySelectorAll('[role=dialog]')].find((dialog) => dialog.checkVisibility()) ?? document, {
       runOnly: ${JSON.stringify(runOnly)},
       resultTypes: ['violations'],
       preload: false,
     }).then(({ violations }) => violations)`,
  )
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${scheme}: ${id}: ${html} ${failureSummary}`),
  )
}

/** The scheme that a test is in by its name: what no page looks like at first, a fault or a full list, is so seen in both. */
export const schemeByName = (name: string): Scheme => SCHEMES[name.length % 2] as Scheme

/** Colours are handed down from element to element, a frame each: waits until what is asked is true and nothing changes. */
const settled = (condition: string) => `(async () => {
  for (let quiet = 0; quiet < 3; quiet++) {
    await new Promise(requestAnimationFrame)
    const changing = document.getAnimations().some((animation) => animation instanceof CSSTransition)
    if (changing || !(${condition})) quiet = -1
  }
})()`

/** Elements that stick out of the page at this width: it scrolls sideways. */
export async function widerThan(page: Page, width: number): Promise<string[]> {
  await page.setViewportSize({ width, height: 640 })
  await page.evaluate(settled(`innerWidth === ${width}`))
  return page.evaluate<string[]>(
    `document.documentElement.scrollWidth <= ${width} ? [] : [...document.querySelectorAll('body *')]
       .filter((element) => element.getBoundingClientRect().right > ${width + 1})
       .map((element) => element.outerHTML.slice(0, 200))`,
  )
}

/** The page does not scroll sideways on the smallest phone. */
export async function expectNarrow(page: Page): Promise<void> {
  const before = page.viewportSize()
  expect(await widerThan(page, 320)).toEqual([])
  if (before) await page.setViewportSize(before)
}

/** How long the longest transition or animation of an element takes, in seconds. */
export function longestMotion(page: Page): Promise<number> {
  return page.evaluate<number>(
    `Math.max(...[...document.querySelectorAll('*')].flatMap((element) => {
       const { transitionDuration, animationDuration } = getComputedStyle(element)
       return [transitionDuration, animationDuration].flatMap((text) => text.split(',').map(parseFloat))
     }))`,
  )
}
