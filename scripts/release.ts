// npm run release: the packages, the bill of materials and the checksums of the committed state, in release/.
// npm run release -- --twice: makes them a second time, in another folder and under other circumstances, and compares the bytes.

import { cpSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { cloneInto, expectEqual, inFolder, PLAIN_ENV, ROOT, run, step } from './check/steps.ts'
import { packRelease } from './release/pack.ts'

const out = join(ROOT, 'release')
const isTwice = process.argv.includes('--twice')
if (run('git', ['status', '--porcelain'], { cwd: ROOT }) !== '')
  console.log('There are changes that are not committed: they are not part of the release.')

await inFolder(async (folder) => {
  const made = join(folder, 'made')
  await step('Release', async () => {
    const checkout = join(folder, 'checkout')
    cloneInto(checkout, 'fetched')
    return `${packRelease(checkout, made).length} files`
  })
  if (isTwice)
    await step('The same bytes once more', async () => {
      const checkout = join(folder, 'another', 'place', 'storekeeper')
      mkdirSync(join(checkout, '..'), { recursive: true })
      process.umask(0o077)
      Object.assign(PLAIN_ENV, { TZ: 'Pacific/Kiritimati', LC_ALL: 'C', HOME: folder })
      cloneInto(checkout, 'fetched')
      const again = join(folder, 'again')
      for (const file of packRelease(checkout, again))
        expectEqual(
          `Whether ${file} has the same bytes`,
          readFileSync(join(again, file)).equals(readFileSync(join(made, file))),
          true,
        )
    })
  if (existsSync(out)) rmSync(out, { recursive: true })
  cpSync(made, out, { recursive: true })
})
console.log(readFileSync(join(out, 'SHA256SUMS'), 'utf8'))
