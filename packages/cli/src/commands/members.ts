// Members of a store, and invitations to become one.

import type { ChangedMember, Member } from '@storekeeper/client'
import type { Command } from 'commander'
import { plain } from '../../../../src/cli/plain.ts'
import { action, confirm, dangerOptions, type ListQuery, listOptions, pageOf, storeCommand } from '../command.ts'
import type { UserIo } from '../io.ts'
import type { Column } from '../output.ts'
import { handOver, type SecretOptions, secretOptions } from '../secret.ts'
import type { App } from '../session.ts'
import { addWords, oneOf } from '../values.ts'

const ROLES = ['OWNER', 'MANAGER', 'STAFF', 'CUSTOMER'] as const
type Role = (typeof ROLES)[number]

const COLUMNS: Column<Member>[] = [
  { title: 'id', of: ({ userId }) => userId },
  { title: 'role', of: ({ role }) => role },
  { title: 'email', of: ({ email }) => email },
  { title: 'name', of: ({ name }) => name },
  { title: 'permissions', of: ({ permissions }) => permissions },
]

type Removal = { keys?: 'keep' | 'revoke'; webhooks?: 'keep' | 'disable' }

export function addMembers(program: Command, app: App): void {
  const group = program.command('members').description('the members of a store').helpCommand(false)
  action<ListQuery & { role?: Role; search?: string }>(
    listOptions(storeCommand(group, 'list', 'list the members', { isDefault: true }))
      .option('--role <role>', ROLES.join(', '), oneOf(ROLES))
      .option('--search <text>', 'part of a name or an e-mail address'),
    app,
    async ({ store, out, signal }, { options }) => {
      const { role, search: q } = options
      await out.list((await store()).members.list({ ...pageOf(options), role, q }, { signal }), COLUMNS, options)
    },
  )
  action(
    storeCommand(group, 'show', 'show a member').argument('<user>', 'the id of the user'),
    app,
    async ({ store, out, signal }, { args: [id = ''] }) => {
      out.record(await (await store()).members.read(id, { signal }), COLUMNS)
    },
  )
  action<SecretOptions & { role: Role; permission?: string[] }>(
    secretOptions(storeCommand(group, 'invite', 'invite somebody, and print the token of the invitation'))
      .argument('<email>')
      .requiredOption('--role <role>', ROLES.join(', '), oneOf(ROLES))
      .option('--permission <names>', 'instead of those of the role; may be given again', addWords),
    app,
    async (session, { args: [email = ''], options }) => {
      const { invitations } = await session.store()
      const input = { email, role: options.role, permissions: options.permission }
      const { id } = await handOver(app, session, options, 'token', (idempotencyKey) =>
        invitations.create(input, { idempotencyKey, signal: session.signal }),
      )
      session.io.say(`Invited ${email} (${id}). Whoever accepts needs the token, and an account with this address.`)
    },
  )
  action<Removal & { role?: Role; permission?: string[]; yes?: true }>(
    removalOptions(dangerOptions(storeCommand(group, 'update', 'change the role or the permissions of a member')))
      .argument('<user>', 'the id of the user')
      .option('--role <role>', ROLES.join(', '), oneOf(ROLES))
      .option('--permission <names>', 'all that the member has from now on; may be given again', addWords),
    app,
    async ({ store, out, signal, io }, { args: [id = ''], options }) => {
      const { members } = await store()
      const { role, permission, keys, webhooks } = options
      if (keys === 'revoke' || webhooks === 'disable') await confirm(io, `Also end what ${id} has created?`, options)
      const changed = await members.update(id, { role, permissions: permission, keys, webhooks }, { signal })
      if (out.json) return out.printJson(changed)
      out.record(changed.member, COLUMNS)
      tellRemains(io, changed)
    },
  )
  action<Removal & { yes?: true }>(
    removalOptions(dangerOptions(storeCommand(group, 'remove', 'remove a member'))).argument(
      '<user>',
      'the id of the user',
    ),
    app,
    async ({ store, out, signal, io }, { args: [id = ''], options }) => {
      const { members } = await store()
      await confirm(io, `Remove ${id} from the store?`, options)
      const { keys, webhooks } = options
      const removed = await members.remove(id, { keys, webhooks }, { signal })
      if (out.json) return out.printJson(removed)
      io.say(`Removed ${id}.`)
      tellRemains(io, removed)
    },
  )
}

/** What was made by somebody who has lost rights is listed, whether or not it was ended. */
function tellRemains(io: UserIo, { keys, webhooks }: ChangedMember): void {
  for (const { id, name, status } of keys) io.say(`  ${id}  ${status}  ${plain(name)}`)
  for (const { id, url, enabled } of webhooks) io.say(`  ${id}  ${enabled ? 'enabled' : 'disabled'}  ${plain(url)}`)
}

function removalOptions(command: Command): Command {
  return command
    .option('--keys <what>', 'keep or revoke the keys that they created or rotated', oneOf(['keep', 'revoke']))
    .option('--webhooks <what>', 'keep or disable the webhooks that they created', oneOf(['keep', 'disable']))
}
