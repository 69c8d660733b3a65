// How much of the client a browser or an edge function has to load.

import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { expect, test } from 'vitest'

const KB = 1_000

/** Minified and compressed, with everything it imports but `external`. */
async function sizeOf(external: string[]): Promise<number> {
  const { outputFiles } = await build({
    entryPoints: ['packages/client/src/index.ts'],
    bundle: true,
    minify: true,
    format: 'esm',
    write: false,
    external,
  })
  return gzipSync(outputFiles[0]?.contents as Uint8Array, { level: 9 }).length
}

test('the core has at most 8 kB, and verifying in process adds at most 6 kB', async () => {
  const core = await sizeOf(['./verify/index.ts'])
  const all = await sizeOf([])
  expect(core, 'core').toBeLessThanOrEqual(8 * KB)
  expect(all - core, 'verifier').toBeLessThanOrEqual(6 * KB)
})
