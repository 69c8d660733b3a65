// Says by name which tests of the dashboard were skipped, because there is no Chromium to open it in.

import type { Reporter, TestModule } from 'vitest/node'
import { CHROMIUM, NO_CHROMIUM } from './chromium.ts'

export const skippedInBrowser: Reporter = {
  onTestRunEnd(modules: readonly TestModule[]) {
    if (CHROMIUM) return
    const skipped = modules
      .filter(({ relativeModuleId }) => relativeModuleId.startsWith('packages/dashboard/tests/'))
      .flatMap((module) =>
        [...module.children.allTests('skipped')].map(({ name }) => `  ${module.relativeModuleId}: ${name}`),
      )
    if (skipped.length > 0) console.warn(`${NO_CHROMIUM} ${skipped.length} tests were skipped:\n${skipped.join('\n')}`)
  },
}
