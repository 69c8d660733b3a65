// What the caller sent: the query, and the body as JSON or as a form, checked against the schemas of the route's row.
// All faults are collected and answered at once.

import type { TSchema } from 'typebox'
import { type Fault, fail, failInput } from '../core/errors.ts'
import type { Route } from '../core/route.ts'
import type { Instance } from '../instance.ts'
import { pointerToken, TOO_MANY_FIELDS, validate } from '../schema/validate.ts'
import { type Auth, type Call, header, type Incoming } from './context.ts'
import { parseStrictJson } from './json.ts'

export const MAX_BODY_BYTES = 64 * 1024
/** Of a form or a query, which have a handful. To read thousands takes long. */
const MAX_FIELDS = 100

/** `faults` are those of the body, for a handler that reports them itself. */
export type Input = { query: object; body: unknown; faults: Fault[] }

export async function checkSignature({ signatures }: Auth, { route, incoming }: Call): Promise<void> {
  if (route.signedBy) await signatures[route.signedBy](incoming.body, (name) => header(incoming, name))
}

export function parseInput(instance: Instance, { route, incoming }: Call): Input {
  const inQuery: Fault[] = []
  const inBody: Fault[] = []
  const query = parseQuery(route, incoming.query, inQuery)
  const body = parseBody(instance, route, incoming, inBody)
  const failing = route.handlesFaults ? inQuery : [...inQuery, ...inBody]
  if (failing.length > 0) failInput(failing)
  return { query, body, faults: inBody }
}

function parseQuery(route: Route, raw: Record<string, unknown>, faults: Fault[]): object {
  if (Object.keys(raw).length > MAX_FIELDS)
    failInput([{ pointer: '?', code: 'too_long', detail: 'This has far too many parameters.' }])
  const properties = route.query?.properties ?? {}
  const query = Object.fromEntries(
    Object.entries(raw).map(([name, value]) => [name, toNumber(properties[name], value)]),
  )
  for (const [name, value] of Object.entries(query))
    if (typeof value === 'string' && value.includes('\0') && !CURSORS.has(name))
      faults.push({
        pointer: `?${pointerToken(name)}`,
        code: 'invalid_characters',
        detail: 'This must not contain U+0000.',
      })
  if (route.query) {
    faults.push(...validate(route.query, query, pointIntoQuery))
    route.checkQuery?.(withoutFaulty(query, faults), faults)
  } else
    for (const name of Object.keys(query))
      faults.push({
        pointer: `?${pointerToken(name)}`,
        code: 'unknown_member',
        detail: 'Unknown parameter. Leave it out.',
      })
  return query
}

/** A cursor that was altered in any way is `invalid_cursor`, so its characters are not checked here. */
const CURSORS = new Set(['cursor', 'after'])

/** A query holds text only: where the schema says integer, digits become a number. */
function toNumber(schema: TSchema | undefined, value: unknown): unknown {
  const isInteger = (schema as { type?: string } | undefined)?.type === 'integer'
  return isInteger && typeof value === 'string' && /^-?\d{1,9}$/.test(value) ? Number(value) : value
}

function pointIntoQuery(fault: Fault): Fault {
  const detail = fault.detail.replace('This field', 'This parameter').replace('Unknown field', 'Unknown parameter')
  return { ...fault, pointer: fault.pointer.replace(/^#\//, '?'), detail }
}

function parseBody(instance: Instance, route: Route, incoming: Incoming, faults: Fault[]): unknown {
  if (!route.body) {
    if (route.method === 'POST' && incoming.body.length > 0) {
      const body = parseJson(incoming)
      if (!isObject(body) || Object.keys(body).length > 0)
        faults.push({ pointer: '#', code: 'unknown_member', detail: 'This operation takes no body. Send none, or {}.' })
    }
    return undefined
  }
  const body = route.form ? parseForm(incoming) : parseJsonOrEmpty(route, incoming)
  const found = validate(route.body, body)
  faults.push(...found)
  const valid = isObject(body) ? withoutFaulty(body, found) : {}
  if (!route.parse) return found.length > 0 ? valid : body
  const more: Fault[] = []
  const value = route.parse(valid, instance, more)
  // One fault for each member, and each entry of a list, is enough: those of the schema come first.
  const reported = new Set(
    found.flatMap((fault) => [fault.pointer, ...(memberOf(fault) in valid ? [] : [memberOf(fault)])]),
  )
  faults.push(...more.filter((fault) => !reported.has(fault.pointer) && !reported.has(memberOf(fault))))
  return value
}

function parseJsonOrEmpty(route: Route, incoming: Incoming): unknown {
  return route.bodyOptional && incoming.body.length === 0 ? {} : parseJson(incoming)
}

function parseJson(incoming: Incoming): unknown {
  if (incoming.body.length > 0 || header(incoming, 'content-type') !== undefined)
    checkMediaType(incoming, /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i)
  return parseStrictJson(incoming.body)
}

/** A name may appear once (RFC 6749, 3.1). */
function parseForm(incoming: Incoming): Record<string, string> {
  checkMediaType(incoming, /^application\/x-www-form-urlencoded\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i)
  const text = incoming.body.toString()
  if (text.split('&', MAX_FIELDS + 1).length > MAX_FIELDS) failInput([TOO_MANY_FIELDS])
  const pairs = [...new URLSearchParams(text)]
  if (new Set(pairs.map(([name]) => name)).size < pairs.length)
    fail('invalid_form', { detail: 'A name appears twice in the form. Send each name once.' })
  return Object.fromEntries(pairs)
}

function checkMediaType(incoming: Incoming, wanted: RegExp): void {
  const encoding = header(incoming, 'content-encoding')
  if (!wanted.test(header(incoming, 'content-type') ?? '') || (encoding !== undefined && encoding !== 'identity'))
    fail('unsupported_media_type')
}

/** Leaves out the members with a fault, and of a list the entries with one, so that the others can still be checked. */
function withoutFaulty(body: Record<string, unknown>, faults: Fault[]): Record<string, unknown> {
  if (faults.length === 0) return body
  return Object.fromEntries(
    Object.entries(body).flatMap(([name, value]) => {
      const found = faults.filter((fault) => memberOf(fault) === name)
      if (found.length === 0) return [[name, value]]
      const entries = found.map(({ pointer }) => /^#\/[^/]+\/(\d+)$/.exec(pointer)?.[1])
      if (!Array.isArray(value) || entries.includes(undefined)) return []
      // Holes, which `map` and `forEach` pass by: the other entries keep their places.
      const rest = [...value]
      for (const n of entries) delete rest[Number(n)]
      return [[name, rest]]
    }),
  )
}

function memberOf(fault: Fault): string {
  return fault.pointer.split('/')[1] ?? fault.pointer.slice(1)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
