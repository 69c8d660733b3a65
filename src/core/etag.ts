// An ETag is the revision of a record: it changes whenever a caller changes the record. An answer that is
// no record has an ETag made from its content.

import { createHash } from 'node:crypto'
import { fail } from './errors.ts'

export function etagOf(revision: number): string {
  return `"r${revision}"`
}

/** Guards against lost updates: `If-Match` must name the current revision. */
export function checkIfMatch(ifMatch: string | null, revision: number): void {
  if (ifMatch === null || ifMatch.trim() === '*') return
  if (!ifMatch.split(',').some((tag) => tag.trim() === etagOf(revision))) fail('precondition_failed')
}

/** The same content, the same tag, on every node. */
export function etagOfContent(content: unknown): string {
  return `"${createHash('sha256').update(JSON.stringify(content)).digest('base64url').slice(0, 22)}"`
}

/** Whether `If-None-Match` names the tag. A W/ before it, as some proxies put it, does not count (RFC 9110, 13.1.2). */
export function matchesIfNoneMatch(ifNoneMatch: string, etag: string): boolean {
  return ifNoneMatch.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag)
}
