// One file with everything but commander, the client included: an installed skp needs no other package of ours, whose name
// somebody else could register.

import { join } from 'node:path'
import { defineConfig } from 'vite'

export default defineConfig({
  root: import.meta.dirname,
  publicDir: false,
  ssr: { noExternal: ['@storekeeper/client'], resolve: { conditions: ['source'] } },
  build: {
    ssr: join(import.meta.dirname, 'src/main.ts'),
    target: 'node20',
    minify: false,
    rollupOptions: { output: { entryFileNames: 'main.js', inlineDynamicImports: true } },
  },
})
