// The dashboard is tested as it is served: built.

import { build } from '../../../bin/build.js'

export default function setup(): void {
  build()
}
