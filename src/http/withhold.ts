// Writing is no way to read. A change may answer with a record that its caller may not read: they get of it what they sent
// themselves, in its normal form, and what tells which record it is. A record that the request has created is theirs.

import { type Caller, heldPermissions } from '../core/caller.ts'
import type { Answer, Route } from '../core/route.ts'
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
  if (!rule || !schema || !caller || caller.kind === 'service') return undefined
  if (heldPermissions(caller).includes(rule.permission) || (mayCreate && answer.resource)) return undefined
  const body = JSON.parse(serialize(schema, answer.body)) as Record<string, unknown>
  const names = new Set([...rule.identifiedBy, ...namesOf(sent)])
  const pick = (record: unknown) =>
    Object.fromEntries(Object.entries(record as object).filter(([name]) => names.has(name)))
  return JSON.stringify(rule.in === undefined ? pick(body) : { ...body, [rule.in]: pick(body[rule.in]) })
}

function namesOf(sent: unknown): string[] {
  return Object.entries(sent ?? {}).flatMap(([name, value]) => (value === undefined ? [] : [name]))
}
