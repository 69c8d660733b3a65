// Any request to the service, for what has no command of its own.

import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { callerPath } from '../../../../src/cli/io.ts'
import { action, onceOptions, readInput, storeCommand } from '../command.ts'
import { UsageError } from '../errors.ts'
import type { UserIo } from '../io.ts'
import { type App, once, type Session } from '../session.ts'
import { addText } from '../values.ts'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

type ApiOptions = {
  field?: string[]
  rawField?: string[]
  query?: string[]
  input?: string
  ifMatch?: string
  all?: true
  idempotencyKey?: string
}

export function addApi(program: Command, app: App): void {
  const command = onceOptions(
    storeCommand(program, 'api', 'send any request, and print the answer as JSON; {store} in the path is your store'),
  )
    .argument('<method>', METHODS.join(', '))
    .argument('<path>', 'such as /v1/user')
    .option('-F, --field <name=value>', 'a member of the body, as JSON if it is JSON; may be given again', addText)
    .option('-f, --raw-field <name=text>', 'a member of the body that is text; may be given again', addText)
    .option('--query <name=value>', 'a parameter; may be given again', addText)
    .option('--input <file>', 'the whole body, from a file or "-" for stdin')
    .option('--if-match <etag>', 'only if it has not changed since')
    .option('--all', 'of a list: every page, a line for each item')
  action<ApiOptions>(command, app, async (session, { args: [word = '', given = ''], options }) => {
    const { sk, out, signal, io } = session
    const method = word.toUpperCase()
    if (!METHODS.includes(method)) throw new UsageError(`"${word}" is no method: ${METHODS.join(', ')}.`)
    if (!given.startsWith('/')) throw new UsageError('The path begins with a slash; the service is that of --url.')
    const path = given.includes('{store}') ? given.replaceAll('{store}', (await session.store()).id) : given
    const query = Object.fromEntries((options.query ?? []).map(pair))
    if (options.all) return printAll(session, method, path, query)
    const { ifMatch } = options
    const request = { query, body: await bodyOf(io, options), ifMatch, signal }
    const ask = (idempotencyKey?: string) => sk.request(method, path, { ...request, idempotencyKey })
    const answer = method === 'POST' ? await once(app, options, ask) : await ask()
    if (answer !== undefined) out.printJson(answer)
  })
}

async function printAll({ sk, signal, out }: Session, method: string, path: string, query: object): Promise<void> {
  if (method !== 'GET') throw new UsageError('--all is for lists, which are read with GET.')
  let cursor: string | null | undefined
  do {
    const page = await sk.request<{ data?: unknown[]; nextCursor?: string | null }>(method, path, {
      query: { limit: 100, ...query, ...(cursor ? { cursor } : {}) },
      signal,
    })
    if (!Array.isArray(page?.data)) throw new UsageError(`${path} is no list.`)
    for (const item of page.data) out.printJson(item, { isLine: true })
    cursor = page.nextCursor
  } while (cursor)
}

function pair(text: string): [string, string] {
  const at = text.indexOf('=')
  if (at < 1) throw new UsageError(`"${text}" is not name=value.`)
  return [text.slice(0, at), text.slice(at + 1)]
}

async function bodyOf(io: UserIo, { field = [], rawField = [], input }: ApiOptions): Promise<unknown> {
  const members = [...field.map(pair).map(([name, value]) => [name, jsonOr(value)] as const), ...rawField.map(pair)]
  if (input === undefined) return members.length > 0 ? Object.fromEntries(members) : undefined
  if (members.length > 0) throw new UsageError('--input is the whole body: no --field beside it.')
  try {
    return JSON.parse(input === '-' ? await readInput(io) : readFileSync(callerPath(io, input), 'utf8'))
  } catch (error) {
    throw new UsageError(`${input === '-' ? 'stdin' : input} is not JSON: ${(error as Error).message}`)
  }
}

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
