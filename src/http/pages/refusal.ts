// A refusal on a path that a person's browser is sent to: a page instead of a problem.

import { ERRORS, type ErrorCode, type Failure } from '../../core/errors.ts'
import type { WireResponse } from '../../core/route.ts'
import { header, type Incoming } from '../context.ts'
import { renderProblem } from '../problem.ts'
import { escapeHtml, html, layout } from './layout.ts'

/** Only a client that names what it takes, and HTML is not among it, gets the problem. */
export function acceptsHtml(incoming: Incoming): boolean {
  return /(^|,)\s*(text\/html|text\/\*|\*\/\*)\s*(;|,|$)/i.test(header(incoming, 'accept') ?? '*/*')
}

/** Where the words of the error are for somebody who calls the API. */
const WORDS: Partial<Record<ErrorCode, [title: string, text: string]>> = {
  not_found: ['No single sign-on', 'Single sign-on is not configured on this service.'],
  sign_in_incomplete: [
    'You are not signed in yet',
    "The sign-in couldn't be completed. It may have taken longer than 10 minutes, already been completed, or been started in another browser or tab. Start again.",
  ],
  sign_in_refused: ['You were not signed in', 'The identity provider did not sign you in.'],
  recent_sign_in_required: [
    'Sign in again',
    'You were asked to sign in again, but your identity provider did not confirm a new sign-in.',
  ],
  invalid_input: ['This link is not valid', 'Start again from the sign-in page.'],
  rate_limited: ['Too many attempts', 'Wait a minute, then try again.'],
  unavailable: [
    'Sign-in is unavailable',
    'Try again in a moment. If it keeps happening, contact the operator of this service.',
  ],
}

export function refusalPage(failure: Failure, requestId: string, path: string): WireResponse {
  const problem = renderProblem(failure, requestId, path)
  const { title: fallback, help } = ERRORS[failure.code]
  const [title, text] = WORDS[failure.code] ?? [fallback, help]
  const detail = failure.code === 'sign_in_refused' ? (failure.details.detail ?? text) : text
  const page = html(
    problem.status,
    layout(
      `${title} · Storekeeper`,
      `<main class="narrow"><h1>${escapeHtml(title)}</h1>
<p>${escapeHtml(detail)}</p>
<p><a href="/sign-in">Back to the sign-in page</a></p>
<p class="quiet small">Reference: ${escapeHtml(requestId)}</p></main>`,
    ),
  )
  return { ...problem, headers: { ...problem.headers, ...page.headers }, body: page.body }
}
