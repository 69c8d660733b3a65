// The packages whose code is inside the built dashboard: their licences ask to be handed on with it, and the bill of materials
// of a release has to name them, though npm knows them as dev dependencies only.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Plugin } from 'vite'

type ThirdParty = { name: string; version: string; license: string }

export function listThirdParty(): Plugin {
  return {
    name: 'list-third-party',
    apply: 'build',
    generateBundle(_, bundle) {
      const modules = Object.values(bundle).flatMap((output) => (output.type === 'chunk' ? output.moduleIds : []))
      const folders = [...new Set(modules.map(packageFolderOf))].filter((folder) => folder !== null)
      const packages = folders.map((folder) => ({ ...readPackage(folder), text: readLicense(folder) }))
      packages.sort((a, b) => (a.name < b.name ? -1 : 1))
      const list = packages.map(({ text: _, ...each }) => each)
      const texts = packages.map(({ name, version, text }) => `${name} ${version}\n\n${text.trim()}\n`)
      const emit = (fileName: string, source: string) => this.emitFile({ type: 'asset', fileName, source })
      emit('third-party.json', `${JSON.stringify(list, null, 2)}\n`)
      emit('third-party-licenses.txt', texts.join(`\n${'-'.repeat(80)}\n\n`))
    },
  }
}

/** Null for a module of our own, and for one that the bundler has made up. */
function packageFolderOf(module: string): string | null {
  return /^\0?(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(module)?.[1] ?? null
}

function readPackage(folder: string): ThirdParty {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return { name, version, license }
}

function readLicense(folder: string): string {
  const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name))
  if (file) return readFileSync(join(folder, file), 'utf8')
  const { license, author, repository } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return `${license} licence, ${author?.name ?? author ?? ''} (${repository?.url ?? repository})`
}
