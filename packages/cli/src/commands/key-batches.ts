// Many keys at once: brought from elsewhere, or changed alike.

import type { BulkChange, BulkResult, KeyLine } from '@storekeeper/client'
import type { Command } from 'commander'
import { plain } from '../../../../src/cli/plain.ts'
import { KEY_TYPE_NAMES, type KeyType } from '../../../../src/core/key-types.ts'
import { action, confirm, dangerOptions, present, readInput, storeCommand } from '../command.ts'
import { EXIT, UsageError } from '../errors.ts'
import { type ImportOptions, importLines, importOptions } from '../import.ts'
import { count, newProgress } from '../progress.ts'
import type { App, Session } from '../session.ts'
import { oneOf, parseFuture, parsePast } from '../values.ts'
import { STATUSES } from './keys.ts'

const ACTIONS = ['revoke', 'disable', 'enable', 'expire'] as const
/** Of one request. */
const MAX_IDS = 1_000
const TIMEOUT_MS = 60_000

type BulkOptions = {
  owner?: string
  status?: (typeof STATUSES)[number]
  type?: KeyType
  search?: string
  createdBy?: string
  unusedSince?: string
  reason?: string
  expires?: string
  yes?: true
}

export function addKeyBatches(group: Command, app: App): void {
  action<ImportOptions>(
    importOptions(storeCommand(group, 'import', 'import keys that were issued elsewhere, from lines of JSON')),
    app,
    async (session, { args: [file = '-'], options }) => {
      const { keys } = await session.store()
      await importLines<KeyLine>(
        app,
        session,
        file,
        options,
        async (lines, call) => (await keys.import({ keys: lines }, call)).results,
      )
    },
  )
  const bulk = dangerOptions(storeCommand(group, 'bulk', 'change many keys: by their ids, their owner, or a filter'))
    .argument('<action>', ACTIONS.join(', '))
    .argument('[key...]', 'ids; "-" reads them from stdin, a line each')
    .option('--owner <owner>', 'the keys of this owner')
    .option('--status <status>', STATUSES.join(', '), oneOf(STATUSES))
    .option('--type <type>', KEY_TYPE_NAMES.join(', '), oneOf(KEY_TYPE_NAMES))
    .option('--search <text>', 'part of a name, or how the key begins')
    .option('--created-by <id>', 'what this user or key has created')
    .option('--unused-since <time>', 'not used for so long: 90d, or since a time', parsePast)
    .option('--reason <text>', 'with revoke: kept with each key')
    .option('--expires <when>', 'with expire: when they stop working', parseFuture)
  action<BulkOptions>(bulk, app, async (session, { args: [word = '', ...ids], options }) => {
    const { owner, status, type, search: q, createdBy, unusedSince, reason, expires } = options
    const action = ACTIONS.find((one) => one === word)
    if (!action) throw new UsageError(`"${word}" is no action: ${ACTIONS.join(', ')}.`)
    const named = ids[0] === '-' ? (await readInput(session.io)).split(/\s+/).filter((id) => id !== '') : ids
    const filter = present({ status, type, q, createdBy, unusedSince })
    const ways = [named.length > 0 && named, owner !== undefined && owner, Object.keys(filter).length > 0 && filter]
    if (ways.filter((way) => way !== false).length !== 1)
      throw new UsageError('Say which keys: their ids, or --owner, or a filter, and one of these.')
    const change = { action, ...present({ reason, expiresAt: expires }) } as BulkChange
    const which =
      named.length > 0 ? `${count(named.length)} keys` : owner !== undefined ? `all keys of ${owner}` : 'all such keys'
    if (action !== 'enable')
      await confirm(session.io, `${action} ${which}?${action === 'revoke' ? ' This cannot be undone.' : ''}`, options)
    const requests = named.length > 0 ? chunks(named, MAX_IDS).map((some) => ({ ...change, ids: some })) : []
    if (requests.length === 0)
      requests.push({ ...change, ...(owner === undefined ? { filter } : { owner }) } as BulkChange & { ids: string[] })
    await changeAll(app, session, requests)
  })
}

function chunks<Item>(items: Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, n) => items.slice(n * size, (n + 1) * size))
}

/** What the service leaves over is asked for again, until nothing is. */
async function changeAll(app: App, { store, out, signal, io }: Session, requests: BulkChange[]): Promise<void> {
  const { keys } = await store()
  const progress = newProgress(io)
  const counts = new Map<string, number>()
  const summary = () => [...counts].map(([status, total]) => `${count(total)} ${status}`).join(', ') || 'no such keys'
  const tell = (result: BulkResult) => {
    counts.set(result.status, (counts.get(result.status) ?? 0) + 1)
    if (out.json) out.printJson(result, { isLine: true })
    else if (result.error) io.print([result.id, result.error.code, result.error.detail].map(plain).join('\t'))
  }
  for (const request of requests)
    for (;;) {
      const { results, more } = await keys.bulk(request, { signal, timeout: TIMEOUT_MS })
      progress.clear()
      for (const result of results) tell(result)
      progress.show(`${summary()} …`)
      // A round that changed nothing would be the same again.
      if (!more || !results.some(({ status }) => status === 'done')) break
    }
  progress.clear()
  io.say(`${summary()}.`)
  if (counts.has('failed')) app.exitCode = EXIT.refused
}
