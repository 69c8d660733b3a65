// Service tokens: what a back end verifies keys with.

import type { ServiceToken } from '@storekeeper/client'
import type { Command } from 'commander'
import { action, confirm, dangerOptions, type ListQuery, listOptions, pageOf, storeCommand } from '../command.ts'
import type { Column } from '../output.ts'
import { handOver, type SecretOptions, secretOptions } from '../secret.ts'
import type { App } from '../session.ts'

const COLUMNS: Column<ServiceToken>[] = [
  { title: 'id', of: ({ id }) => id },
  { title: 'state', of: ({ revokedAt }) => (revokedAt ? 'REVOKED' : 'ACTIVE'), kind: 'state' },
  { title: 'created', of: ({ createdAt }) => createdAt, kind: 'time' },
  { title: 'name', of: ({ name }) => name },
]

export function addServiceTokens(program: Command, app: App): void {
  const group = program
    .command('service-tokens')
    .description('what your back ends verify keys of a store with')
    .helpCommand(false)
  action<ListQuery>(
    listOptions(storeCommand(group, 'list', 'list the service tokens of a store', { isDefault: true })),
    app,
    async ({ store, out, signal }, { options }) =>
      out.list((await store()).serviceTokens.list(pageOf(options), { signal }), COLUMNS, options),
  )
  action<SecretOptions>(
    secretOptions(storeCommand(group, 'create', 'issue a service token for a back end, and print it')).argument(
      '<name>',
      'the back end',
    ),
    app,
    async (session, { args: [name = ''], options }) => {
      const { serviceTokens } = await session.store()
      const { id } = await handOver(app, session, options, 'token', (idempotencyKey) =>
        serviceTokens.create({ name }, { idempotencyKey, signal: session.signal }),
      )
      session.io.say(`Issued ${id}. The token is not shown again.`)
    },
  )
  action<{ yes?: true }>(
    dangerOptions(storeCommand(group, 'revoke', 'end a service token for good')).argument('<token>', 'its id'),
    app,
    async ({ store, out, signal, io }, { args: [id = ''], options }) => {
      const { serviceTokens } = await store()
      await confirm(io, `Revoke ${id}? The back end that uses it can no longer verify keys.`, options)
      const revoked = await serviceTokens.revoke(id, { signal })
      if (out.json) return out.printJson(revoked)
      io.say(`Revoked ${id}.`)
    },
  )
}
