// Which Chromium opens the pages, and how it is started.

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

/** The shell first: the others also draw a window around each page, which takes about as long as the page itself. */
const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome']
const PLACES = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
]

const named = process.env.CHROMIUM_PATH

/** The one named in `CHROMIUM_PATH`; without a name, one that is installed. Undefined if it is not there. */
export const CHROMIUM = named
  ? [named].find((place) => existsSync(place))
  : (NAMES.map((name) => spawnSync('which', [name], { encoding: 'utf8' }).stdout?.trim()).find(Boolean) ??
    PLACES.find((place) => existsSync(place)))

export const NO_CHROMIUM =
  'No Chromium was found. Install one (apt-get install chromium-headless-shell), or name it in CHROMIUM_PATH.'

export const CHROMIUM_ARGS = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Pages of one context share a process, and with it the scripts that were compiled.
  '--process-per-site',
  // Chromium does not start its sandbox as root.
  ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
]
