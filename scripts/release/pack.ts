// The files of a release from a clean checkout: packages, bill of materials, checksums. Nothing in them depends on when, where
// or by whom they were made: the same commit gives the same bytes.

import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from '../check/steps.ts'
import { billOfMaterials } from './bill-of-materials.ts'
import { checkLicenses } from './policy.ts'

/** Beside the service: the client and the command line. */
const WORKSPACES = ['packages/client', 'packages/cli']

/** `checkout` has the committed state and its dependencies, and no build. */
export function packRelease(checkout: string, out: string, { sbom = true } = {}): string[] {
  if (existsSync(join(checkout, 'dist'))) throw new Error('A release is not made from an earlier build.')
  mkdirSync(out, { recursive: true })
  run('npm', ['run', 'build'], { cwd: checkout })
  for (const workspace of WORKSPACES) copyFileSync(join(checkout, 'LICENSE'), join(checkout, workspace, 'LICENSE'))
  // npm packs files with the permissions that they have here: others must be able to read what root installs.
  run('chmod', ['-R', 'u=rwX,go=rX', checkout])
  for (const folder of [checkout, ...WORKSPACES.map((workspace) => join(checkout, workspace))])
    run('npm', ['pack', '--ignore-scripts', '--pack-destination', out], { cwd: folder })
  if (sbom) {
    const bill = billOfMaterials(checkout)
    checkLicenses(bill.components)
    writeFileSync(
      join(out, `storekeeper-${bill.metadata.component.version}.cdx.json`),
      `${JSON.stringify(bill, null, 2)}\n`,
    )
  }
  const files = readdirSync(out).toSorted()
  const sums = files.map((name) => `${sha256(join(out, name))}  ${name}\n`)
  writeFileSync(join(out, 'SHA256SUMS'), sums.join(''))
  return [...files, 'SHA256SUMS']
}

function sha256(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}
