// The page about the API, made from the rows of the routes.

import { ERRORS } from '../../core/errors.ts'
import type { Route } from '../../core/route.ts'
import { accessText, errorsOf, tagOf } from '../operation.ts'
import { SEARCH_FORM } from './docs.ts'
import { badge, escapeHtml, inlineCode, layout, linkTo, pathTemplate } from './layout.ts'

export function referencePage(routes: Route[]): string {
  const tags = [...new Set(routes.map(tagOf))]
  const ofTag = (tag: string) => routes.filter((route) => tagOf(route) === tag)
  const contents = tags.map(
    (tag) =>
      `<div><h2>${tag}</h2><ul>${ofTag(tag)
        .map((route) => `<li>${linkTo(route)}</li>`)
        .join('')}</ul></div>`,
  )
  const bodies = tags.map((tag) => `<h2>${tag}</h2>${ofTag(tag).map(operationDocs).join('')}`)
  return layout(
    'API · Storekeeper',
    `<main class="wide"><nav aria-label="Operations">${contents.join('')}</nav><div>${SEARCH_FORM()}${INTRO}${bodies.join('')}</div></main>`,
  )
}

const INTRO = `<h1>Storekeeper API</h1><p>Bodies are JSON. Send your credential as <code>Authorization: Bearer …</code>: a session token from <a href="#auth.signUp">signing up</a> or <a href="#auth.signIn">in</a>, an API key, or an access token from the <a href="/docs/guides/identity-provider">identity provider</a> this service trusts. Verifying keys takes a service token: <a href="/docs/tutorials/protect-your-api">how to protect your API</a>.</p>
<p>Send an <code>Idempotency-Key</code> of your choice with a POST to make it safe to retry. There is a page for <a href="/errors">every error</a>, and the API description is also available as <a href="/openapi.json">OpenAPI 3.1</a>.</p>
<p>The examples use <code>$STOREKEEPER</code> for the address of this service, <code>$TOKEN</code> for your credential and <code>$STORE_ID</code> for the id of a store. <a href="/docs/api">Using the API</a> explains what holds for every operation.</p>`

function operationDocs(route: Route): string {
  const [status, schema] = route.returns
  const errors = errorsOf(route).toSorted((a, b) => ERRORS[a].status - ERRORS[b].status)
  return `<section id="${route.id}"><h3>${escapeHtml(route.summary)}</h3>
<p class="path">${badge(route)} <code>${pathTemplate(route)}</code></p>
<p>${inlineCode(route.description)}</p><p class="quiet">${inlineCode(accessText(route))}</p>
${route.query ? `<h4>Query</h4>${fields(route.query)}` : ''}${route.body ? `<h4>Body</h4>${fields(route.body)}` : ''}
<h4>Example</h4><pre>${escapeHtml(curl(route))}</pre>
${schema ? `<details><summary>Response <code>${status}</code></summary>${fields(schema)}</details>` : `<h4>Response <code>${status}</code>, ${route.answer === 'events' || route.answer === 'changes' ? 'a stream' : 'without a body'}</h4>`}
<details><summary>Errors</summary><ul class="chips small">${errors
    .map((code) => `<li><a href="/errors/${code}"><code>${ERRORS[code].status} ${code}</code></a></li>`)
    .join('')}</ul></details></section>`
}

type Shape = {
  title?: string
  properties?: Record<string, Shape>
  required?: string[]
  type?: string | string[]
  enum?: string[]
  description?: string
  items?: Shape
  format?: string
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
}

/** A table of the members; the members of a member unfold below it. */
function fields(schema: object): string {
  const { properties = {}, required = [] } = schema as Shape
  const rows = Object.entries(properties).map(
    ([name, shape]) =>
      `<tr><td><code>${name}</code>${required.includes(name) ? '' : ' <span class="quiet">optional</span>'}</td><td class="quiet">${escapeHtml(kindOf(shape))}</td><td>${inlineCode([shape.description, boundsOf(shape)].filter(Boolean).join(' '))}</td></tr>`,
  )
  const inner = Object.entries(properties)
    .map(([name, shape]) => [name, shape.items ?? shape] as const)
    .filter(([, shape]) => shape.properties)
    .map(([name, shape]) => `<details><summary>In <code>${name}</code></summary>${fields(shape)}</details>`)
  return rows.length === 0
    ? ''
    : `<div class="scroll"><table class="fields">${rows.join('')}</table></div>${inner.join('')}`
}

/** The bounds of a schema in words, such as "1 to 100 characters". */
function boundsOf({ minLength = 0, maxLength, minimum, maximum, enum: words, items, description = '' }: Shape): string {
  if (words || items || description.includes('characters')) return ''
  if (maximum !== undefined) return `${minimum ?? 0} to ${maximum.toLocaleString('en')}.`
  if (maxLength === undefined) return ''
  return minLength > 0 ? `${minLength} to ${maxLength} characters.` : `At most ${maxLength} characters.`
}

const KINDS: Record<string, string> = { array: 'list', integer: 'whole number', boolean: 'true or false' }

function kindOf(shape: Shape): string {
  if (shape.enum) return shape.enum.filter((word) => word !== null).join(' | ')
  const [kind = 'any', ...rest] = [shape.type ?? 'any']
    .flat()
    .map((name) => (shape.format === 'date-time' && name === 'string' ? 'time' : (KINDS[name] ?? name)))
  const whole = shape.items ? `${kind} of ${shape.items.title ?? kindOf(shape.items)}` : (shape.title ?? kind)
  return [whole, ...rest].join(' or ')
}

/** `:storeId` becomes `$STORE_ID`, a variable of the shell: curl would take `{storeId}` for a pattern of its own. */
function curl(route: Route): string {
  const path = route.path.replace(/:(\w+)/g, (_, name: string) => `$${name.replace(/[A-Z]/g, '_$&').toUpperCase()}`)
  const query = route.example?.query ? `?${route.example.query}` : ''
  const lines = [`curl -X ${route.method} "$STOREKEEPER${path}${query}"`]
  if (route.needs !== 'public') lines.push(`-H "Authorization: Bearer $TOKEN"`)
  if (route.example?.body && route.form)
    lines.push(...Object.entries(route.example.body).map(([name, value]) => `--data-urlencode '${name}=${value}'`))
  else if (route.example?.body) lines.push(`-H 'Content-Type: application/json'`, `-d '${pretty(route.example.body)}'`)
  return lines.join(' \\\n  ')
}

/** Indented JSON, with a list of plain values on one line. */
function pretty(body: unknown): string {
  return JSON.stringify(body, null, 2)
    .replace(/\[\n\s+([^[\]{}]*?)\n\s+\]/g, (_, words: string) => `[${words.replace(/\n\s+/g, ' ')}]`)
    .replaceAll('\n', '\n  ')
}
