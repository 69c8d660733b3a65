// Built into dist/dashboard of the service, with names that change with the content, and compressed beforehand: the
// service compresses nothing while it answers.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

/** The service puts a fresh one in its place with each answer (src/http/pages/dashboard.ts). */
const NONCE_PLACEHOLDER = '__NONCE__'

export default defineConfig({
  root: join(import.meta.dirname, 'src'),
  publicDir: false,
  resolve: { conditions: ['source', 'module', 'browser', 'production'] },
  html: { cspNonce: NONCE_PLACEHOLDER },
  plugins: [react(), precompress()],
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
})

function precompress(): Plugin {
  return {
    name: 'precompress',
    apply: 'build',
    writeBundle({ dir }) {
      const assets = join(dir as string, 'assets')
      for (const name of readdirSync(assets).filter((file) => /\.(js|css|svg)$/.test(file))) {
        const content = readFileSync(join(assets, name))
        const brotli = brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: content.length } })
        writeFileSync(join(assets, `${name}.br`), brotli)
        writeFileSync(join(assets, `${name}.gz`), gzipSync(content, { level: 9 }))
      }
    },
  }
}
