/**
 * npm run bench:address: what the check of an address costs. Time for one address, over those of the world, good and bad;
 * and, in processes of their own and as built, what the rules add to the start and to the memory.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from '../bin/build.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const ROUNDS = 5
const ADDRESSES = fileURLToPath(new URL('../src/billing/address/addresses-of-the-world.txt', import.meta.url))

/** Each runs in a fresh process and prints numbers. Time is that of the processor, so that neighbours count less. */
const PARTS = {
  start: `
    await import('./dist/billing/schema.js')
    const began = cpu()
    await import('libphonenumber-js/max')
    const phone = cpu()
    const { normalizeAddress } = await import('./dist/billing/address/normalize.js')
    const loaded = cpu()
    normalizeAddress(inputs[0])
    print(phone - began, loaded - phone, cpu() - loaded)`,
  memory: `
    const used = () => { gc(); gc(); const { heapUsed, external } = process.memoryUsage(); return (heapUsed + external) / 1e6 }
    await import('./dist/billing/schema.js')
    const began = used()
    await import('libphonenumber-js/max')
    const phone = used()
    const { normalizeAddress } = await import('./dist/billing/address/normalize.js')
    const { countryCodes } = await import('./dist/billing/countries/countries.js')
    for (const country of countryCodes())
      normalizeAddress({ firstName: 'Ada', addressLine1: 'x', city: 'x', state: 'x', postalCode: 'x', country })
    print(phone - began, used() - phone)`,
  check: `
    const { normalizeAddress } = await import('./dist/billing/address/normalize.js')
    const { formatAddress } = await import('./dist/billing/address/format.js')
    const check = (input) => { const { address } = normalizeAddress(input); if (address) formatAddress(address) }
    const rounds = (inputs, most) => { for (let n = 0; n < most; n++) inputs.forEach(check) }
    const microseconds = (inputs) => { const began = cpu(); rounds(inputs, 50); return (cpu() - began) * 1000 / 50 / inputs.length }
    const called = inputs.map((input) => ({ ...input, phone: '+1 (408) 555-0123' }))
    rounds(called, 20)
    print(microseconds(inputs), microseconds(called))`,
}

build()
const inputs = readAddresses()
const [phoneStart, rulesStart, first] = measured('start')
const [phoneMemory, rulesMemory] = measured('memory')
const [plain, called] = measured('check')
console.log(`${inputs.length} addresses, medians of ${ROUNDS} processes, Node ${process.versions.node}`)
console.log(
  `start    rules ${rulesStart} ms, the first address ${first} ms; phone numbers of the world ${phoneStart} ms`,
)
console.log(`memory   rules ${rulesMemory} MB with every country used; phone numbers of the world ${phoneMemory} MB`)
console.log(`check    ${plain} µs for normal form and label of an address, ${called} µs with a phone number`)

function measured(part: keyof typeof PARTS): string[] {
  const rounds = Array.from({ length: ROUNDS }, () => run(PARTS[part]))
  return (rounds[0] as number[]).map((_, i) => median(rounds.map((round) => round[i] as number)).toFixed(1))
}

function median(numbers: number[]): number {
  return numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)] as number
}

function run(script: string): number[] {
  const source = `
    const inputs = ${JSON.stringify(inputs)}
    const cpu = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000 }
    const print = (...numbers) => console.log(JSON.stringify(numbers))
    ${script}`
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--expose-gc', '--input-type=module'], {
    cwd: ROOT,
    input: source,
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(stderr)
  return JSON.parse(stdout)
}

function readAddresses(): Record<string, string>[] {
  const lines = readFileSync(ADDRESSES, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !/^[#@]/.test(line))
  return lines.map((line) => {
    const [country = '', addressLine1 = '', city = '', state = '', postalCode = ''] = (line.split('=>')[0] as string)
      .split('|')
      .map((cell) => cell.trim())
    return { firstName: 'Ada', lastName: 'Lovelace', country, addressLine1, city, state, postalCode }
  })
}
