// An ETag is the revision of a record: it changes with every change that a person made to it.

import { fail } from './errors.ts'

export function etagOf(revision: number): string {
  return `"r${revision}"`
}

/** Guards a change against one that came before it: `If-Match` must name the revision that is there now. */
export function checkMatch(ifMatch: string | null, revision: number): void {
  if (ifMatch === null || ifMatch.trim() === '*') return
  if (!ifMatch.split(',').some((tag) => tag.trim() === etagOf(revision))) fail('precondition_failed')
}
