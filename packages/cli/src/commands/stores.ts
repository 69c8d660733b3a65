// Stores: which there are, and which one is meant when none is named.

import type { Me } from '@storekeeper/client'
import type { Command } from 'commander'
import { plain } from '../../../../src/cli/plain.ts'
import { action, onceOptions, serviceCommand, storeCommand } from '../command.ts'
import { CommandError, EXIT } from '../errors.ts'
import { readHosts, writeHosts } from '../hosts.ts'
import type { Column } from '../output.ts'
import { type App, once, type ServiceOptions } from '../session.ts'
import { quoted } from '../shell.ts'

const FACTS: Column<Me['stores'][number]['store']>[] = [
  { title: 'id', of: ({ id }) => id },
  { title: 'name', of: ({ name }) => name },
  { title: 'registration', of: ({ registration }) => registration },
  { title: 'leak grace', of: ({ leakGraceSeconds }) => `${leakGraceSeconds} s` },
  { title: 'frozen', of: ({ frozenAt }) => frozenAt, kind: 'time' },
  { title: 'created', of: ({ createdAt }) => createdAt, kind: 'time' },
]

const MEMBERSHIPS: Column<Me['stores'][number]>[] = [
  { title: 'id', of: ({ store }) => store.id },
  { title: 'name', of: ({ store }) => store.name },
  { title: 'role', of: ({ role }) => role },
  { title: 'permissions', of: ({ permissions }) => permissions },
]

export function addStores(program: Command, app: App): void {
  const group = program.command('stores').description('the stores that you are a member of').helpCommand(false)
  action(
    serviceCommand(group, 'list', 'list your stores, and what you may do in each', { isDefault: true }),
    app,
    async ({ sk, out, signal, io }) => {
      const { stores } = await sk.user.read({ signal })
      if (out.json) return out.printJson(stores)
      if (stores.length === 0) io.say('None. Create one: skp stores create "The name of the shop"')
      out.table(stores, MEMBERSHIPS)
    },
  )
  action(
    storeCommand(group, 'show', 'show a store').argument('[store]', 'its id'),
    app,
    async ({ sk, out, signal, store }, { args }) => {
      out.record(await sk.stores.read(args[0] ?? (await store()).id, { signal }), FACTS)
    },
  )
  action<{ idempotencyKey?: string }>(
    onceOptions(serviceCommand(group, 'create', 'create a store, which you then own')).argument('<name>'),
    app,
    async ({ sk, out, signal }, { args: [name = ''], options }) => {
      const store = await once(app, options, (idempotencyKey) => sk.stores.create({ name }, { idempotencyKey, signal }))
      if (out.json) return out.printJson(store)
      app.io.print(plain(store.id))
      app.io.say(`Created ${plain(store.name)}. To use it from now on: skp stores use ${quoted(plain(store.id))}`)
    },
  )
  action<ServiceOptions>(
    serviceCommand(group, 'use', 'use a store in commands that name none').argument('<store>', 'its id'),
    app,
    async ({ sk, signal, io }, { args: [id = ''] }) => {
      const { name } = await sk.stores.read(id, { signal })
      const file = readHosts(io.env)
      const host = file.hosts[sk.url]
      if (!host)
        throw new CommandError(
          `Nothing is kept for ${sk.url}: run "skp login", or set STOREKEEPER_STORE.`,
          EXIT.notSignedIn,
        )
      writeHosts(io.env, { ...file, hosts: { ...file.hosts, [sk.url]: { ...host, store: id } } })
      io.say(`From now on: ${plain(name)} (${id}).`)
    },
  )
}
