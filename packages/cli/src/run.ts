import type { Io } from '../../../src/cli/io.ts'
import { newProgram, runProgram, usageErrors } from '../../../src/cli/program.ts'
import { addQuickstart } from './commands/quickstart.ts'
import { addScan } from './scan/scan.ts'

/** The exit code. */
export async function run(argv: string[], io: Io): Promise<number> {
  const program = newProgram(io)
    .name('npm run --silent storekeeper --')
    .exitOverride(usageErrors((fault) => new Error(fault)))
  let found = false
  addScan(program, io, () => {
    found = true
  })
  addQuickstart(program, io)
  const code = await runProgram(program, argv, io)
  return code === 0 && found ? 1 : code
}
