// Built into dist/dashboard of the service, with names that change with the content, and compressed beforehand: the
// service compresses nothing while it answers.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin, transformWithEsbuild } from 'vite'
import { listThirdParty } from './third-party.ts'

/** The service puts a fresh one in its place with each answer (src/http/pages/dashboard.ts). */
const NONCE_PLACEHOLDER = '__NONCE__'

/**
 * What nearly every page uses is one file, with the shell: it compresses better than many, and a page needs few requests.
 * The ways in have nothing of it.
 */
const COMMON = [
  /\/src\/app\/(shell|frame|search-button|home|sign-out|api|query|me|secrets|secret-provider|leave-guard)\.tsx?$/,
  /\/src\/components\/(allowed|bars|copy|dialog|empty|form|loaded|page|problem|secret-dialog|section|time|usage|use-plot)\.tsx?$/,
  /\/node_modules\/(lucide-react|@tanstack|@floating-ui|@mantine\/form|react-remove-scroll.*|react-style-singleton|use-sidecar|use-callback-ref|tabbable|aria-hidden)\//,
  // Without the components that few pages use.
  /\/@mantine\/core\/esm\/(?:components|utils)\/(?!(ActionIcon|Fieldset|FileButton|FileInput|Grid|Kbd|MultiSelect|NativeSelect|NumberInput|PasswordInput|Pill|PillsInput|Progress|Radio|SimpleGrid|Stepper|Switch|Tabs|TagsInput|Timeline)\/)/,
]
const withShell = (id: string) => (COMMON.some((pattern) => pattern.test(id)) ? 'shell' : undefined)

export default defineConfig({
  root: join(import.meta.dirname, 'src'),
  publicDir: false,
  resolve: { conditions: ['source', 'module', 'browser', 'production'] },
  html: { cspNonce: NONCE_PLACEHOLDER },
  plugins: [react(), textsByPage(), precompress(), listThirdParty()],
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // What each page loads: a test holds it to a budget.
    manifest: true,
    rollupOptions: { output: { manualChunks: withShell, onlyExplicitManualChunks: true } },
  },
})

/**
 * The texts of all pages stand in one file. A page loads only the sections that it names: `texts.keys` becomes an import of
 * that section. Where `texts` is used otherwise, the whole file is loaded.
 */
function textsByPage(): Plugin {
  const file = join(import.meta.dirname, 'src/texts.ts')
  const mark = '?section='
  return {
    name: 'texts-by-page',
    apply: 'build',
    enforce: 'post',
    async load(id) {
      const [path, section] = id.split(mark)
      if (path !== file || !section) return null
      this.addWatchFile(file)
      const { code } = await transformWithEsbuild(readFileSync(file, 'utf8'), file)
      const [before = '', texts = ''] = code.split('export const texts = ')
      const { body } = this.parse(`(${texts.replace(/;\s*$/, '')})`) as unknown as Program
      const found = body[0]?.expression.properties.find(({ key }) => key.name === section)
      // The text was put in parentheses: one character more.
      if (found) return `${before}export const section = ${texts.slice(found.value.start - 1, found.value.end - 1)}`
      throw new Error(`texts.ts has no section ${section}.`)
    },
    transform(code, id) {
      const statement = /import \{ texts \} from "([^"]+texts\.ts)";/.exec(code)
      if (!statement || id.includes('node_modules')) return null
      const rest = code.replace(statement[0], '')
      if (/\btexts\b(?!\.[a-zA-Z])/.test(rest)) return null
      const sections = [...new Set([...rest.matchAll(/\btexts\.([a-zA-Z]+)/g)].map(([, name]) => name as string))]
      const imports = sections.map((name) => `import { section as texts_${name} } from "${file}${mark}${name}";`)
      return { code: `${imports.join(' ')}${rest.replace(/\btexts\.([a-zA-Z]+)/g, 'texts_$1')}`, map: null }
    },
  }
}

type Node = { start: number; end: number }
type Program = { body: { expression: { properties: { key: { name: string }; value: Node }[] } }[] }

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
