// Keys: what there is, how it is used, and what it no longer needs.

import { etagOf, type Key, type KeyUsage, type StoreUsage } from '@storekeeper/client'
import type { Command } from 'commander'
import { plain } from '../../../../src/cli/plain.ts'
import { KEY_TYPE_NAMES, type KeyType } from '../../../../src/core/key-types.ts'
import { action, type ListQuery, listOptions, pageOf, storeCommand } from '../command.ts'
import type { Column } from '../output.ts'
import { plot, sparkline } from '../plot.ts'
import { count } from '../progress.ts'
import type { App, Session } from '../session.ts'
import { oneOf, parsePast } from '../values.ts'

export const STATUSES = ['ACTIVE', 'DISABLED', 'EXPIRED', 'REVOKED'] as const
const INTERVALS = ['hour', 'day'] as const

const COLUMNS: Column<Key>[] = [
  { title: 'id', of: ({ id }) => id },
  { title: 'status', of: ({ status }) => status, kind: 'state' },
  { title: 'type', of: ({ type }) => type },
  { title: 'start', of: ({ start }) => `${start}…` },
  { title: 'last used', of: ({ lastUsedAt }) => lastUsedAt, kind: 'time' },
  { title: 'expires', of: ({ expiresAt }) => expiresAt, kind: 'time' },
  { title: 'name', of: ({ name }) => name },
]

export const KEY_FACTS: Column<Key>[] = [
  { title: 'id', of: ({ id }) => id },
  { title: 'name', of: ({ name }) => name },
  { title: 'status', of: ({ status }) => status, kind: 'state' },
  { title: 'type', of: ({ type }) => type },
  { title: 'start', of: ({ start }) => `${start}…` },
  { title: 'permissions', of: ({ permissions }) => permissions },
  { title: 'owner', of: ({ owner }) => owner },
  { title: 'expires', of: ({ expiresAt }) => expiresAt, kind: 'time' },
  { title: 'ip', of: ({ ipAllowlist }) => ipAllowlist },
  { title: 'rate limit', of: ({ rateLimit }) => rateLimit && `${rateLimit.limit}/${rateLimit.windowSeconds}s` },
  {
    title: 'limits',
    of: ({ rateLimits }) =>
      rateLimits.map(
        ({ name, limit, windowSeconds, shared }) => `${name}=${limit}/${windowSeconds}s${shared ? ':owner' : ''}`,
      ),
  },
  { title: 'credits', of: ({ credits }) => credits?.remaining },
  { title: 'metadata', of: ({ metadata }) => (Object.keys(metadata).length > 0 ? JSON.stringify(metadata) : null) },
  { title: 'created', of: ({ createdAt }) => createdAt, kind: 'time' },
  { title: 'last used', of: ({ lastUsedAt }) => lastUsedAt, kind: 'time' },
  { title: 'old secret until', of: ({ rotation }) => rotation?.previousExpiresAt, kind: 'time' },
  { title: 'old secret used', of: ({ rotation }) => rotation?.previousLastUsedAt, kind: 'time' },
  { title: 'revoked', of: ({ revokedAt }) => revokedAt, kind: 'time' },
  { title: 'reason', of: ({ revocationReason }) => revocationReason },
]

type Filters = {
  status?: (typeof STATUSES)[number]
  type?: KeyType
  search?: string
  owner?: string
  createdBy?: string
}

export function addKeyReaders(group: Command, app: App): void {
  action<ListQuery & Filters>(
    listOptions(storeCommand(group, 'list', 'list the keys, newest first', { isDefault: true }))
      .option('--status <status>', STATUSES.join(', '), oneOf(STATUSES))
      .option('--type <type>', KEY_TYPE_NAMES.join(', '), oneOf(KEY_TYPE_NAMES))
      .option('--search <text>', 'part of a name, or how the key begins')
      .option('--owner <owner>', 'only the keys of this owner')
      .option('--created-by <id>', 'only what this user or key has created'),
    app,
    async ({ store, out, signal }, { options }) => {
      const { status, type, search: q, owner, createdBy } = options
      const query = { ...pageOf(options), status, type, q, owner, createdBy }
      await out.list((await store()).keys.list(query, { signal }), COLUMNS, options)
    },
  )
  action<{ etag?: true }>(
    storeCommand(group, 'show', 'show a key, without its secret')
      .argument('<key>', 'its id')
      .option('--etag', 'print only its ETag, for --if-match'),
    app,
    async ({ store, out, signal, io }, { args: [id = ''], options }) => {
      const key = await (await store()).keys.read(id, { signal })
      if (options.etag) return io.print(etagOf(key) ?? '')
      out.record(key, KEY_FACTS)
    },
  )
  action<ListQuery & Period>(
    listOptions(
      periodOptions(storeCommand(group, 'usage', 'show how a key is used, or all keys of the store')),
    ).argument('[key]', 'its id'),
    app,
    async (session, { args: [id], options }) => {
      const { keys } = await session.store()
      const { from, to, interval } = options
      const period = { from, to, interval }
      if (id !== undefined) return showUsage(session, id, await keys.usage(id, period, { signal: session.signal }))
      const list = keys.storeUsage({ ...pageOf(options), ...period }, { signal: session.signal })
      await session.out.list<UsageRow>(list, usageColumns(session), options)
    },
  )
  action(
    storeCommand(group, 'advice', 'show which permissions a key has and does not use').argument('<key>', 'its id'),
    app,
    async ({ store, out, signal, io }, { args: [id = ''] }) => {
      const advice = await (await store()).keys.advice(id, { signal })
      if (out.json) return out.printJson(advice)
      const rows = [
        ...advice.unused.map((permission) => ({ permission, state: 'unused', at: '' })),
        ...Object.entries(advice.exercised).map(([permission, at]) => ({ permission, state: 'used', at })),
      ]
      out.table(rows, [
        { title: 'permission', of: ({ permission }) => permission },
        { title: 'state', of: ({ state }) => state },
        { title: 'last used', of: ({ at }) => at, kind: 'time' },
      ])
      if (advice.unused.length > 0)
        io.say(`Not needed since ${advice.since}. To keep only the others: skp keys update ${id} --permission …`)
    },
  )
}

type Period = { from?: string; to?: string; interval?: (typeof INTERVALS)[number] }

function periodOptions(command: Command): Command {
  return command
    .option('--from <time>', 'since when: 7d for seven days ago, or a time', parsePast)
    .option('--to <time>', 'until when', parsePast)
    .option('--interval <interval>', INTERVALS.join(', '), oneOf(INTERVALS))
}

type UsageRow = StoreUsage['data'][number]

const totalOf = (counts: Record<string, number>) => Object.values(counts).reduce((sum, n) => sum + n, 0)

function usageColumns({ out }: Session): Column<UsageRow>[] {
  const columns: Column<UsageRow>[] = [
    { title: 'key', of: ({ keyId }) => keyId },
    { title: 'verified', of: ({ data }) => data.reduce((sum, { counts }) => sum + totalOf(counts), 0) },
    { title: 'valid', of: ({ data }) => data.reduce((sum, { counts }) => sum + (counts.VALID ?? 0), 0) },
  ]
  if (!out.isTerminal) return columns
  return [...columns, { title: 'course', of: ({ data }) => sparkline(data.map(({ counts }) => totalOf(counts))) }]
}

function showUsage({ out, io }: Session, id: string, usage: KeyUsage): void {
  if (out.json) return out.printJson(usage)
  if (!out.isTerminal) {
    for (const { at, counts } of usage.data)
      for (const [code, n] of Object.entries(counts)) io.print([at, code, n].map(plain).join('\t'))
    return
  }
  const sums = new Map<string, number>()
  for (const { counts } of usage.data)
    for (const [code, n] of Object.entries(counts)) sums.set(code, (sums.get(code) ?? 0) + n)
  const counts = usage.data.map((entry) => ({ at: entry.at, count: totalOf(entry.counts) }))
  out.line(`${id}: ${count(totalOf(Object.fromEntries(sums)))} verifications`, 'bold')
  for (const line of plot({ ...usage, counts }, io.stdout.columns)) out.line(line, 'cyan')
  out.table(
    [...sums],
    [
      { title: 'code', of: ([code]) => code, kind: 'state' },
      { title: 'count', of: ([, n]) => count(n) },
    ],
  )
  const { current, previous } = usage.bySecret
  const secrets = [{ secret: 'current', ...current }, ...(previous ? [{ secret: 'previous', ...previous }] : [])]
  io.print('')
  out.table(secrets, [
    { title: 'secret', of: ({ secret }) => secret },
    { title: 'verified', of: ({ counts: used }) => count(totalOf(used)) },
    { title: 'last used', of: ({ lastUsedAt }) => lastUsedAt ?? 'never', kind: 'time' },
    { title: 'from', of: ({ sources }) => sources.map(({ ip }) => ip).filter((ip) => ip !== null) },
  ])
}
