// Whoever signs out in one tab may leave the browser to somebody else. A page of theirs in another tab that holds something
// typed is covered until they sign in again: nothing of it is seen, reached by keyboard or read aloud (dashboard.css).

import { texts } from '../texts.ts'

let coveredTitle = ''

export const isCovered = (): boolean => document.body.dataset.covered !== undefined

export function cover(): void {
  if (isCovered()) return
  coveredTitle = document.title
  document.title = texts.signIn.title
  document.body.dataset.covered = ''
}

export function uncover(): void {
  if (!isCovered()) return
  document.title = coveredTitle
  delete document.body.dataset.covered
}
