// npm run check:systemd: the unit has no fault, and its exposure, as systemd counts it, is below 3 of 10. Neither needs systemd
// to be running.

import { spawnSync } from 'node:child_process'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inFolder, needPrograms, PLAIN_ENV, ROOT, run, step } from './steps.ts'

const UNIT = 'storekeeper.service'
const file = join(ROOT, 'deploy/systemd', UNIT)
/** In tenths, as systemd takes it. */
const THRESHOLD = 29

needPrograms({ 'systemd-analyze': 'systemd' })

await inFolder(async (folder) => {
  await step('systemd-analyze verify', () => {
    // The program has to be there for it.
    const program = join(folder, 'storekeeper')
    writeFileSync(program, '#!/bin/sh\n')
    chmodSync(program, 0o755)
    const unit = join(folder, UNIT)
    const [, path = ''] = /^ExecStart=(\S+)/m.exec(readFileSync(file, 'utf8')) ?? []
    writeFileSync(unit, readFileSync(file, 'utf8').replace(path, program))
    const { status, stderr, stdout } = spawnSync('systemd-analyze', ['verify', '--man=no', unit], {
      env: PLAIN_ENV,
      encoding: 'utf8',
    })
    const said = `${stdout}${stderr}`.split('\n').filter((line) => line.includes(UNIT))
    if (status !== 0 || said.length > 0) throw new Error(`status ${status}\n${stdout}${stderr}`)
  })
  await step('systemd-analyze security', () => {
    const said = run('systemd-analyze', ['security', '--offline=true', `--threshold=${THRESHOLD}`, '--no-pager', file])
    return said.trim().split('\n').at(-1) as string
  })
})
