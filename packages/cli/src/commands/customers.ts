// Customers, whom the store knows by an id of its own.

import type { Customer, CustomerChanges, CustomerLine } from '@storekeeper/client'
import type { Command } from 'commander'
import { action, confirm, dangerOptions, type ListQuery, listOptions, pageOf, storeCommand } from '../command.ts'
import { type ImportOptions, importLines, importOptions } from '../import.ts'
import type { Column } from '../output.ts'
import type { App } from '../session.ts'
import { oneOf } from '../values.ts'

const COLUMNS: Column<Customer>[] = [
  { title: 'id', of: ({ id }) => id },
  { title: 'external id', of: ({ externalId }) => externalId },
  { title: 'email', of: ({ email }) => email },
  { title: 'name', of: ({ name }) => name },
  { title: 'created', of: ({ createdAt }) => createdAt, kind: 'time' },
]

export function addCustomers(program: Command, app: App): void {
  const group = program.command('customers').description('the customers of a store').helpCommand(false)
  action<ListQuery & { search?: string }>(
    listOptions(storeCommand(group, 'list', 'list the customers', { isDefault: true })).option(
      '--search <text>',
      'the beginning of an external id, or a whole e-mail address',
    ),
    app,
    async ({ store, out, signal }, { options }) => {
      const { customers } = await store()
      await out.list(customers.list({ ...pageOf(options), q: options.search }, { signal }), COLUMNS, options)
    },
  )
  action(
    storeCommand(group, 'show', 'show a customer').argument('<external id>'),
    app,
    async ({ store, out, signal }, { args: [id = ''] }) => {
      out.record(await (await store()).customers.read(id, { signal }), COLUMNS)
    },
  )
  action<CustomerChanges & { user?: string }>(
    storeCommand(group, 'put', 'create a customer, or change one')
      .argument('<external id>')
      .option('--email <address>', 'their e-mail address')
      .option('--name <name>', 'the name of the person or company')
      .option('--user <id>', 'a member with the role CUSTOMER, whose account it is'),
    app,
    async ({ store, out, signal }, { args: [id = ''], options: { email, name, user } }) => {
      const { customers } = await store()
      out.record(await customers.put(id, { email, name, userId: user }, { signal }), COLUMNS)
    },
  )
  action<{ keys?: 'keep' | 'revoke'; yes?: true }>(
    dangerOptions(storeCommand(group, 'erase', 'erase a customer and their addresses'))
      .argument('<external id>')
      .option('--keys <what>', 'keep or revoke the keys whose owner the customer is', oneOf(['keep', 'revoke'])),
    app,
    async ({ store, out, signal, io }, { args: [id = ''], options }) => {
      const { customers } = await store()
      await confirm(io, `Erase the customer ${id}? This cannot be undone.`, options)
      const erased = await customers.erase(id, { keys: options.keys }, { signal })
      if (out.json) return out.printJson(erased)
      io.say(`Erased ${id}.`)
    },
  )
  action(
    storeCommand(group, 'export', 'print all that is held about a customer, as JSON').argument('<external id>'),
    app,
    async ({ store, out, signal }, { args: [id = ''] }) => {
      out.printJson(await (await store()).customers.export(id, { signal }))
    },
  )
  action<ImportOptions>(
    importOptions(storeCommand(group, 'import', 'create or change customers from lines of JSON')),
    app,
    async (session, { args: [file = '-'], options }) => {
      const { customers } = await session.store()
      await importLines<CustomerLine>(app, session, file, options, async (lines, call) =>
        (await customers.import({ customers: lines }, call)).results.map((result) => ({
          ...result,
          id: result.externalId,
        })),
      )
    },
  )
}
