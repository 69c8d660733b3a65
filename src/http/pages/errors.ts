// The pages about errors, made from the table of errors: all of them, and one with an example and where it can occur.

import { ERRORS, type ErrorCode, Failure, type FailureDetails } from '../../core/errors.ts'
import type { Route } from '../../core/route.ts'
import { errorsOf } from '../operation.ts'
import { renderProblem } from '../problem.ts'
import { SEARCH_FORM } from './docs.ts'
import { FAULTS, type FaultRow } from './faults.ts'
import { escapeHtml, layout, linkTo, pathTemplate, wrappable } from './layout.ts'

export function errorsPage(): string {
  const rows = Object.entries(ERRORS).map(
    ([code, { status, title }]) =>
      `<tr><td><a href="/errors/${code}"><code>${wrappable(code)}</code></a></td><td>${status}</td><td>${escapeHtml(title)}</td></tr>`,
  )
  const faults = Object.entries(FAULTS).map(
    ([code, { title }]) =>
      `<tr><td><a href="/errors/${code}"><code>${wrappable(code)}</code></a></td><td>${escapeHtml(title)}</td></tr>`,
  )
  return layout(
    'Errors · Storekeeper',
    `<main><h1>Errors</h1>${SEARCH_FORM()}<p>Every error is an <code>application/problem+json</code> document with one of these as its <code>code</code>. The meaning of a code never changes; the wording may.</p>
<div class="card scroll"><table><tr><th>code</th><th>status</th><th>meaning</th></tr>${rows.join('')}</table></div>
<h2 id="faults">Faults and warnings</h2><p>A 422 <a href="/errors/invalid_input"><code>invalid_input</code></a> lists every fault of the input in <code>errors</code>, each with a code of its own. Warnings of an address have such codes too.</p>
<div class="card scroll"><table><tr><th>code</th><th>meaning</th></tr>${faults.join('')}</table></div></main>`,
  )
}

export function faultPage(code: string): string {
  const { title, help } = FAULTS[code] as FaultRow
  return layout(
    `${code} · Storekeeper`,
    `<main><p class="small"><a href="/errors#faults">← All errors</a></p><h1>${escapeHtml(title)}</h1><p><code>${code}</code> <span class="quiet">${help.startsWith('A warning') ? 'a warning of an address' : 'a fault of the input'}</span></p><p>${escapeHtml(help)}</p></main>`,
  )
}

export function errorPage(code: ErrorCode, routes: Route[]): string {
  const { status, title, help } = ERRORS[code]
  const where = routes.filter((route) => errorsOf(route).includes(code))
  const instance = where[0] ? pathTemplate(where[0]) : '/v1/…'
  const { body } = renderProblem(new Failure(code, EXAMPLE_DETAILS[code]), 'req_…', instance)
  return layout(
    `${code} · Storekeeper`,
    `<main><p class="small"><a href="/errors">← All errors</a></p><h1>${escapeHtml(title)}</h1><p><code>${code}</code> <span class="quiet">status ${status}</span></p><p>${escapeHtml(help)}</p>
<h4>Example</h4><pre>${escapeHtml(JSON.stringify(JSON.parse(body), null, 2))}</pre>${where.length === 0 ? '' : `<h4>Operations that can return it</h4><ul class="columns small">${where.map((route) => `<li>${linkTo(route)}</li>`).join('')}</ul>`}</main>`,
  )
}

/** Members that some problems have beside the usual ones. */
const EXAMPLE_DETAILS: Partial<Record<ErrorCode, FailureDetails>> = {
  invalid_input: {
    members: {
      errors: [{ pointer: '#/name', code: 'required', detail: 'This field is required.' }],
    },
  },
  insufficient_permission: { required: ['MANAGE_KEYS'] },
  cannot_grant: { members: { permissions: ['MANAGE_STORE'] } },
  secret_no_longer_available: { members: { resource: { id: 'key_…' } } },
  response_no_longer_available: { members: { resource: { id: 'key_…' } } },
}
