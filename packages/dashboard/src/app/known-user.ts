// Whose page this is. The tabs of a browser share the session cookie, so somebody else may have signed in since the page was
// opened. Once a page knows its user, every call names them, and the service refuses the call in the session of another
// (`Expected-User` in docs/api.md). The page then forgets its user and is loaded again, for the one who is signed in now.
// A page is never handed on to the next user: a call that waits to be repeated, or a job of many calls, would act for them.

import { forgetUser } from './forget-user.ts'
import { hasLinkToken } from './link-token.ts'
import { announce, onNews, onUserChange, signInAgain } from './session.ts'
import { hasTyped, isSecretShown, leaveUnasked } from './unsaved.ts'

/** The first user that the page knew, for as long as it is loaded: every call is theirs. */
let ownerId: string | null = null
let knownId: string | null = null
let isLeaving = false

/**
 * From the first answer of the service that says who is signed in. Other tabs are told: theirs may be somebody else's.
 * `heard`: the sign-outs that had been heard of when it was asked for.
 */
export function knowUser(id: string, heard: number): void {
  if (knownId === id) return
  // Two answers that were asked for before anybody was known, and the session changed between them; or they have signed out
  // since the service answered.
  if (isOthersPage(id) || heard !== signOutsHeard) return startAnew()
  ownerId = id
  knownId = id
  dropDraftsOfOthers(id)
  announce({ is: 'known', userId: id })
}

/** Drafts in this tab's storage are named by their user. */
export const DRAFT = 'storekeeper.draft.'

function dropDraftsOfOthers(id: string): void {
  const drafts = Object.keys(sessionStorage).filter((name) => name.startsWith(DRAFT))
  for (const name of drafts) if (!name.startsWith(`${DRAFT}${id}.`)) sessionStorage.removeItem(name)
}

onUserChange(() => {
  knownId = null
})

/** Null while nobody is known to be signed in. */
export const knownUser = (): string | null => knownId

/** `fetch`, for the user whose page this is. */
export async function fetchForUser(input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
  if (isLeaving) return NEVER
  const response = await fetch(input, { ...init, headers: withUser(init.headers) })
  if (await isForAnother(response)) startAnew()
  return isLeaving ? NEVER : response
}

/** The page is being loaded again: no call of it may be sent or repeated any more, and no answer shown. */
const NEVER = new Promise<never>(() => {})

function withUser(given: HeadersInit | undefined): Headers {
  const headers = new Headers(given)
  if (ownerId !== null) headers.set('expected-user', ownerId)
  return headers
}

async function isForAnother(response: Response): Promise<boolean> {
  if (response.status !== 409) return false
  const problem: unknown = await response
    .clone()
    .json()
    .catch(() => null)
  return (problem as { code?: unknown } | null)?.code === 'signed_in_as_another'
}

/** Whether somebody who has just signed in finds the page of another user. */
export const isOthersPage = (id: string): boolean => ownerId !== null && ownerId !== id

// ---- signing in or out in another tab -----------------------------------------------------------------------------------

let signOutsHeard = 0

/** How many sign-outs in other tabs this page has heard of. */
export const heardSignOuts = (): number => signOutsHeard

// From the first moment on: a page that is still loading may know its user already.
onNews((news) => {
  if (news.is === 'signed out') {
    signOutsHeard++
    if (ownerId !== null) return leave()
  }
  // A page that was opened by a mailed link may not have asked who is signed in. The link is not for whoever comes next.
  if (hasLinkToken() && (news.is !== 'known' || isOthersPage(news.userId))) startAnew()
})

/** What was typed waits for the same person, out of sight. A secret does not wait, nor does a page with nothing to lose. */
function leave(): void {
  if (isSecretShown() || !hasTyped()) return startAnew()
  signInAgain('signed out').catch(() => {
    // They did not come back: the page is being left.
  })
}

// ---- the page is left ---------------------------------------------------------------------------------------------------

type Anew = {
  /** Where the next page is; otherwise at the same address. */
  at?: string
  /** For whoever goes on with the link of this page in another account. */
  keepsLink?: boolean
}

/** Somebody else is signed in, or nobody: nothing of this page's user is kept, shown or sent. */
export function startAnew({ at, keepsLink = false }: Anew = {}): void {
  if (isLeaving) return
  isLeaving = true
  // At once, not when the service has answered.
  document.body.hidden = true
  forgetUser({ keepsLink })
  leaveUnasked()
  // Should the browser have kept the page for the way back, it is still not shown.
  addEventListener('pageshow', () => location.reload())
  if (at === undefined) location.reload()
  else location.replace(at)
}
