// Billing addresses: one's own, or those that the store keeps for a customer.

import { readFileSync } from 'node:fs'
import type { Address, NewAddress } from '@storekeeper/client'
import type { Command } from 'commander'
import { callerPath } from '../../../../src/cli/io.ts'
import { plain } from '../../../../src/cli/plain.ts'
import { action, type ListQuery, listOptions, onceOptions, pageOf, readInput, storeCommand } from '../command.ts'
import { UsageError } from '../errors.ts'
import type { UserIo } from '../io.ts'
import type { Column } from '../output.ts'
import { type App, once } from '../session.ts'

type Shown = Pick<Address, 'id' | 'country' | 'isDefault' | 'version' | 'formatted' | 'updatedAt' | 'warnings'>

const COLUMNS: Column<Shown>[] = [
  { title: 'id', of: ({ id }) => id },
  { title: 'country', of: ({ country }) => country },
  { title: 'default', of: ({ isDefault }) => (isDefault ? 'yes' : '') },
  { title: 'version', of: ({ version }) => version },
  { title: 'changed', of: ({ updatedAt }) => updatedAt, kind: 'time' },
  { title: 'address', of: ({ formatted }) => formatted.join(' / ') },
]

type Whose = { customer?: string }

export function addBilling(program: Command, app: App): void {
  const group = program
    .command('billing')
    .description('billing addresses: your own, or those of a customer')
    .helpCommand(false)
  const command = (name: string, description: string, place: { isDefault?: boolean } = {}) =>
    storeCommand(group, name, description, place).option(
      '--customer <external id>',
      'of this customer instead of your own',
    )
  action<ListQuery & Whose>(
    listOptions(command('list', 'list addresses', { isDefault: true })),
    app,
    async ({ store, out, signal }, { options }) => {
      const { addresses, customers } = await store()
      const { customer } = options
      const query = pageOf(options)
      const list =
        customer === undefined
          ? addresses.list(query, { signal })
          : customers.addresses.list(customer, query, { signal })
      await out.list(list, COLUMNS, options)
    },
  )
  action<Whose>(
    command('show', 'show an address').argument('<address>', 'its id'),
    app,
    async ({ store, out, signal }, { args: [id = ''], options: { customer } }) => {
      const { addresses, customers } = await store()
      const address =
        customer === undefined
          ? await addresses.read(id, { signal })
          : await customers.addresses.read(customer, id, { signal })
      out.record(address, COLUMNS)
    },
  )
  action<Whose & { idempotencyKey?: string }>(
    onceOptions(command('create', 'create an address from a JSON object')).argument(
      '[file]',
      '"-" or nothing is stdin',
    ),
    app,
    async ({ store, out, signal, io }, { args: [file = '-'], options }) => {
      const { addresses, customers } = await store()
      const { customer } = options
      const input = await readObject(io, file)
      const address = await once(app, options, (idempotencyKey) =>
        customer === undefined
          ? addresses.create(input, { idempotencyKey, signal })
          : customers.addresses.create(customer, input, { idempotencyKey, signal }),
      )
      out.record(address, COLUMNS)
      tellWarnings(io, address)
    },
  )
  action<Whose>(
    command('check', 'check an address by the rules of its country, and store nothing').argument(
      '[file]',
      '"-" or nothing is stdin',
    ),
    app,
    async ({ store, out, signal, io }, { args: [file = '-'], options: { customer } }) => {
      const { addresses, customers } = await store()
      const input = await readObject(io, file)
      const checked =
        customer === undefined
          ? await addresses.validate(input, { signal })
          : await customers.addresses.validate(customer, input, { signal })
      if (out.json) return out.printJson(checked)
      for (const line of checked.formatted ?? []) io.print(plain(line))
      tellWarnings(io, checked)
    },
  )
}

/** Answers are what they are; what is sent is checked by the service. */
async function readObject(io: UserIo, file: string): Promise<NewAddress> {
  try {
    return JSON.parse(file === '-' ? await readInput(io) : readFileSync(callerPath(io, file), 'utf8'))
  } catch (error) {
    throw new UsageError(`${file === '-' ? 'stdin' : file} is not a JSON object: ${(error as Error).message}`)
  }
}

function tellWarnings(io: UserIo, { warnings }: Pick<Shown, 'warnings'>): void {
  for (const { pointer, detail } of warnings) io.say(plain(`${pointer}: ${detail}`))
}
