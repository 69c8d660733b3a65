// Which Chromium opens the pages, and how it is started.

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome']
const PLACES = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
]

/** `CHROMIUM_PATH`, or one that is installed. */
export const CHROMIUM =
  process.env.CHROMIUM_PATH ??
  NAMES.map((name) => spawnSync('which', [name], { encoding: 'utf8' }).stdout?.trim()).find(Boolean) ??
  PLACES.find((place) => existsSync(place))

export const CHROMIUM_ARGS = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Chromium does not start its sandbox as root.
  ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
]
