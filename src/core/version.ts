// The version of the package, which is that of the service and of the API's description.

import { readFileSync } from 'node:fs'

/** From the root of the package, which lies above both src/ and dist/. */
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
export const VERSION: string = version
