// packages/client/src/api.gen.ts, made from the rows of the routes: the types of requests and answers, the codes of errors,
// the types of events, and the table from which the client builds its methods.

import { readFileSync } from 'node:fs'
import type { TSchema } from 'typebox'
import { ERRORS } from '../src/core/errors.ts'
import { KEY_TOKEN_KINDS } from '../src/core/key-types.ts'
import { BUILT_IN_PERMISSIONS } from '../src/core/permissions.ts'
import { isChange, type Route } from '../src/core/route.ts'
import { EVENT_TYPES, TYPES_IN_STORES } from '../src/events/schema.ts'
import { PROBLEM } from '../src/http/openapi-schemas.ts'
import { accessText, takesIdempotencyKey } from '../src/http/operation.ts'
import { WebhookMessage } from '../src/webhooks/schema.ts'
import { eventMemberType } from './event-data.ts'
import { DeclaredTypes, doc, quoted, type Schema, writeType } from './schema-types.ts'

/**
 * A person's browser or GitHub calls these, events have `follow` and changes of keys `inProcess`: the client has no method
 * for them.
 */
export function isInClient({ browser, signedBy, answer }: Route): boolean {
  return !browser && !signedBy && answer !== 'events' && answer !== 'changes'
}

export function clientTypes(routes: Route[]): string {
  const types = new DeclaredTypes()
  const operations = routes.filter(isInClient).map((row) => toOperation(row, types))
  for (const { answer, query, id } of routes)
    if (answer === 'events' && query) types.nameOf({ ...query, title: queryTitle(id) } as Schema, 'request')
  types.nameOf(WebhookMessage as Schema, 'answer')
  const { version } = JSON.parse(readFileSync(new URL('../packages/client/package.json', import.meta.url), 'utf8'))
  return [
    '// Written by `npm run generate` from the rows of the routes. Do not change it by hand.',
    '',
    `import type { List } from './list.ts'`,
    `import type { CallOptions, GuardedOptions, KeyedOptions, ReadOptions } from './options.ts'`,
    '',
    `export const VERSION = ${quoted(version)}`,
    '',
    list('KEY_KINDS', 'What stands in a key after the prefix, one for each type.', KEY_TOKEN_KINDS),
    list('BUILT_IN_PERMISSIONS', 'The permissions that every service has.', BUILT_IN_PERMISSIONS),
    table(operations),
    errorTypes(),
    eventTypes(),
    tree('Api', 'The operations that are not about one store.', operations, false),
    tree('StoreApi', 'The operations of one store.', operations, true),
    ...types.declarations(),
  ].join('\n')
}

function list(name: string, about: string, words: readonly string[]): string {
  return `/** ${about} */\nexport const ${name} = [${words.map(quoted).join(', ')}]\n`
}

type Operation = {
  row: Route
  /** Below `sk.store(id)`, which gives the first parameter of the path. */
  inStore: boolean
  flags: string
  queryNames: string[]
  signature: string
}

/**
 * b: takes a body. q: takes a query. f: the body is a form. k: carries an Idempotency-Key. s: nothing is changed, or
 * repeating it changes nothing more. v: a question of a back end, answered within 2 seconds or not at all. p: the answer is
 * a page of a list. o: the body or query may be left out.
 */
function toOperation(row: Route, types: DeclaredTypes): Operation {
  const inStore = row.path.includes(':storeId') && !row.id.startsWith('stores.')
  const [, answer] = row.returns
  const isPaged = row.query !== undefined && 'cursor' in row.query.properties
  const isQuestion = row.needs === 'service'
  const isKeyed = takesIdempotencyKey(row)
  const body = (row.documentedBody ?? row.body) as Schema | undefined
  const optional = isInputOptional(row)
  const isSafe = !isChange(row) || row.method === 'PUT' || isQuestion
  const flags = [
    body && 'b',
    row.query && 'q',
    row.form && 'f',
    isKeyed && !isQuestion && 'k',
    isSafe && 's',
    isQuestion && 'v',
    isPaged && 'p',
    optional && 'o',
  ]
  return {
    row,
    inStore,
    flags: flags.filter(Boolean).join(''),
    queryNames: row.body && row.query ? Object.keys(row.query.properties) : [],
    signature: `(${[
      ...parametersOf(row, inStore),
      ...inputOf(row, body, optional, types),
      `options?: ${optionsOf(row, isKeyed)}`,
    ].join(', ')}): ${answerOf(answer, isPaged, types)}`,
  }
}

function isInputOptional({ body, query, bodyOptional }: Route): boolean {
  const needsQuery = Boolean((query as Schema | undefined)?.required)
  return !needsQuery && (body ? bodyOptional === true : query !== undefined)
}

function parametersOf(row: Route, inStore: boolean): string[] {
  const names = [...row.path.matchAll(/:(\w+)/g)].map(([, name]) => name as string)
  return names.slice(inStore ? 1 : 0).map((name) => (name === 'n' ? 'version: number' : `${name}: string`))
}

function inputOf(row: Route, body: Schema | undefined, optional: boolean, types: DeclaredTypes): string[] {
  const mark = optional ? '?' : ''
  const query = row.query && types.nameOf({ ...row.query, title: queryTitle(row.id) } as Schema, 'request')
  if (!body) return query ? [`query${mark}: ${query}`] : []
  const type = types.nameOf(body, 'request')
  return [`input${mark}: ${[type, query].filter(Boolean).join(' & ')}`]
}

function queryTitle(id: string): string {
  return `${id.replace(/(?:^|\.)(\w)/g, (_, letter: string) => letter.toUpperCase())}Query`
}

function optionsOf({ errors }: Route, isKeyed: boolean): string {
  const isGuarded = errors?.includes('precondition_failed')
  if (isKeyed) return isGuarded ? 'CallOptions' : 'KeyedOptions'
  return isGuarded ? 'GuardedOptions' : 'ReadOptions'
}

function answerOf(answer: TSchema | null, isPaged: boolean, types: DeclaredTypes): string {
  if (!answer) return 'Promise<void>'
  const name = types.nameOf(answer as Schema, 'answer')
  if (!isPaged) return `Promise<${name}>`
  return `List<${name}['data'][number], ${name}>`
}

/** A line for each operation, and with the names of its query where a body and a query are given as one object. */
function table(operations: Operation[]): string {
  const lines = operations.map(({ row, flags, queryNames }) => {
    const cells = [row.method, row.path, flags, ...(queryNames.length > 0 ? [queryNames.join()] : [])]
    return `${quoted(row.id)}: ${quoted(cells.join(' ').trim())},`
  })
  return `/** Each method: how it is sent, where to, and what is particular about it (see request.ts and client.ts). */
export const OPERATIONS: Record<string, string> = {\n${lines.join('\n')}\n}\n`
}

function errorTypes(): string {
  const codes = Object.entries(ERRORS).map(
    ([code, { status, title }]) => `/** ${status}: ${title}. */\n| ${quoted(code)}`,
  )
  const members = new Map<string, string[]>()
  for (const [name, schema] of Object.entries(PROBLEM.properties as unknown as Record<string, Schema>)) {
    const [, code, condition] = /^With `(\w+)`([^:]*):/.exec(schema.description ?? '') ?? []
    if (code === undefined || name === 'errors') continue
    const member = `${doc(schema.description)}${name}${condition ? '?' : ''}: ${writeType(schema, 'answer', null)}`
    members.set(code, [...(members.get(code) ?? []), member])
  }
  const fault = (PROBLEM.properties.errors as unknown as { items: Schema }).items
  return `/** The codes of the service's errors, for ever; newer services may have more. */
export type ServiceErrorCode =\n${codes.join('\n')}

/** What errors of some codes say beside what all say. */
export interface ErrorDetails {\n${[...members].map(([code, lines]) => `${code}: {\n${lines.join('\n')}\n}`).join('\n')}\n}

/** One thing that is wrong with the input. */
export interface Fault ${writeType(fault, 'answer', null)}
`
}

function eventTypes(): string {
  const lines = TYPES_IN_STORES.map((type) => {
    const { about, data } = EVENT_TYPES[type]
    const members = (data as readonly string[]).map(
      (name) => `${name}: ${eventMemberType(type, name.replace('?', ''))}`,
    )
    return `${doc(about)}${quoted(type)}: ${members.length > 0 ? `{ ${members.join('; ')} }` : 'Record<string, never>'}`
  })
  return `/** The events of a store, by type: the members of \`data\`. */\nexport interface EventData {\n${lines.join('\n')}\n}\n`
}

/** The methods as nested members: `customers.addresses.create` stands two levels deep. */
function tree(name: string, about: string, operations: Operation[], inStore: boolean): string {
  type Branch = Map<string, Branch | string>
  const root: Branch = new Map()
  for (const { row, signature } of operations.filter((operation) => operation.inStore === inStore)) {
    const names = row.id.split('.')
    const last = names.pop() as string
    const branch = names.reduce<Branch>((at, part) => {
      const next = at.get(part) ?? new Map()
      if (typeof next === 'string') throw new Error(`${row.id}: ${part} is a method already`)
      at.set(part, next)
      return next
    }, root)
    if (branch.has(last)) throw new Error(`${row.id} is there twice`)
    branch.set(last, `${doc(wordsOf(row))}${last}${signature}`)
  }
  const write = (branch: Branch): string =>
    [...branch]
      .map(([part, inside]) => (typeof inside === 'string' ? inside : `${part}: {\n${write(inside)}\n}`))
      .join('\n')
  return `/** ${about} */\nexport interface ${name} {\n${write(root)}\n}\n`
}

function wordsOf(row: Route): string {
  const { summary, description, errors = [] } = row
  const told = errors.length > 0 ? ` Errors: ${errors.map((code) => `\`${code}\``).join(', ')}.` : ''
  return `${summary}. ${description}\n\n${accessText(row)}${told}\n\n\`${row.method} ${row.path}\``
}
