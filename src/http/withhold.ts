// Writing is no way to read. A change may answer with a record that its caller may not read: they get of it what they sent
// themselves, in its normal form, and what tells which record it is. A record that the request has created is theirs. When
// what they sent does not fit the rest of the record, they hear which field is at fault, but not what is stored.

import { type Caller, heldPermissions } from '../core/caller.ts'
import { Failure, type Fault } from '../core/errors.ts'
import type { Answer, Route, WireResponse } from '../core/route.ts'
import { FAULTS } from './pages/faults.ts'
import { serialize } from './response.ts'

/** The body without what the caller may not read; undefined when they may read all of it. */
export function withhold(
  route: Route,
  caller: Caller | null,
  sent: unknown,
  answer: Answer<unknown>,
): string | undefined {
  const { readableWith: rule, returns, mayCreate } = route
  const [, schema] = returns
  if (!rule || !schema || mayRead(route, caller) || (mayCreate && answer.resource)) return undefined
  return withoutUnreadable(rule, sent, serialize(schema, answer.body))
}

/** The body of a stored response, for a caller who may have lost the permission to read it since. */
export function withholdAgain(
  route: Route,
  caller: Caller | null,
  sent: Buffer,
  { status, body }: WireResponse,
): string {
  const { readableWith: rule } = route
  if (!rule || status >= 300 || mayRead(route, caller)) return body
  return withoutUnreadable(rule, JSON.parse(sent.toString()), body)
}

function withoutUnreadable(rule: NonNullable<Route['readableWith']>, sent: unknown, text: string): string {
  const body = JSON.parse(text) as Record<string, unknown>
  const names = new Set([...rule.identifiedBy, ...namesOf(sent)])
  const pick = (record: unknown) =>
    Object.fromEntries(Object.entries(record as object).filter(([name]) => names.has(name)))
  return JSON.stringify(rule.in === undefined ? pick(body) : { ...body, [rule.in]: pick(body[rule.in]) })
}

/**
 * What the handler has thrown, without the details of its faults, which may quote the record; `sent` are those of the body
 * alone.
 */
export function withholdFaults(route: Route, caller: Caller | null, sent: Fault[], error: unknown): unknown {
  if (mayRead(route, caller) || !(error instanceof Failure) || error.code !== 'invalid_input') return error
  const faults = (error.details.members?.errors ?? []) as Fault[]
  const errors = faults.map((fault) => {
    const { pointer, code } = fault
    return sent.includes(fault) ? fault : { pointer, code, detail: `${FAULTS[code]?.title ?? code}.` }
  })
  return new Failure('invalid_input', { members: { errors } })
}

function mayRead({ readableWith: rule }: Route, caller: Caller | null): boolean {
  return !rule || !caller || caller.kind === 'service' || heldPermissions(caller).includes(rule.permission)
}

function namesOf(sent: unknown): string[] {
  return Object.entries(sent ?? {}).flatMap(([name, value]) => (value === undefined ? [] : [name]))
}
