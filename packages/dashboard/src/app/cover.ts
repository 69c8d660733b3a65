// Whoever signs out in one tab may leave the browser to somebody else. A page of theirs in another tab that holds something
// typed is covered until they sign in again: nothing of it is seen, reached by keyboard or read aloud (dashboard.css). Its
// title is covered too.

import { texts } from '../texts.ts'

let pageTitle = document.title

const isCovered = (): boolean => document.body.dataset.covered !== undefined

/** The title of the page, which a page that is covered shows when it is uncovered. */
export function setTitle(title: string): void {
  pageTitle = title
  if (!isCovered()) document.title = title
}

export function cover(): void {
  document.title = texts.signIn.title
  document.body.dataset.covered = ''
}

export function uncover(): void {
  if (!isCovered()) return
  delete document.body.dataset.covered
  document.title = pageTitle
}
