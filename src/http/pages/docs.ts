// The documentation: its front page with the search, and a page for each document.

import { badge, escapeHtml, html, layout, type Rendered } from './layout.ts'
import type { Document } from './markdown.ts'
import { excerpt, findEntries, type SearchEntry } from './search.ts'

export type Documents = Map<string, Document>

type Group = { title: string; urls: string[] }

/** In the order they are read in. What stands nowhere else is a design decision. */
const GROUPS: Group[] = [
  { title: 'Start', urls: ['/docs/start'] },
  {
    title: 'Tutorials',
    urls: [
      '/docs/tutorials/protect-a-back-end',
      '/docs/tutorials/protect-your-api',
      '/docs/tutorials/connect-your-logins',
      '/docs/tutorials/checkout-addresses',
    ],
  },
  {
    title: 'Guides',
    urls: [
      '/docs/api',
      '/docs/dashboard',
      '/docs/client',
      '/docs/cli',
      '/docs/guides/require-keys',
      '/docs/guides/identity-provider',
      '/docs/guides/moving-keys',
      '/docs/events',
      '/docs/leaks',
      '/docs/countries',
      '/docs/comparison',
    ],
  },
  { title: 'Reference', urls: ['/docs/reference', '/errors', '/openapi.json'] },
  {
    title: 'Running it',
    urls: [
      '/docs/install',
      '/docs/operations',
      '/docs/backup',
      '/docs/high-availability',
      '/docs/scale',
      '/docs/security',
      '/docs/measured',
      '/docs/changelog',
    ],
  },
]

/** Pages that are not made of a document. */
const OTHER_TITLES: Record<string, string> = {
  '/docs/reference': 'Every operation',
  '/errors': 'Errors',
  '/openapi.json': 'OpenAPI 3.1',
}

/** What a document is called in a list, where its own title says too little there. */
const SHORT_TITLES: Record<string, string> = { '/docs/start': 'Getting started', '/docs/api': 'Using the API' }

const titleOf = (documents: Documents, url: string) =>
  SHORT_TITLES[url] ?? OTHER_TITLES[url] ?? documents.get(url)?.title ?? url

function groupsOf(documents: Documents): Group[] {
  const listed = new Set(GROUPS.flatMap(({ urls }) => urls))
  const rest = [...documents.keys()].filter((url) => !listed.has(url))
  return [...GROUPS, { title: 'Decisions', urls: rest }]
}

export const SEARCH_FORM = (query = '') =>
  `<form class="search" action="/docs" role="search"><input type="search" name="q" value="${escapeHtml(query)}" maxlength="100" aria-label="Search the docs" placeholder="Search the docs"><button>Search</button></form>`

/** A list of links for each group, with the current page marked. */
function contents(documents: Documents, current: string): string {
  const item = (url: string) =>
    `<li><a href="${url}"${url === current ? ' aria-current="page"' : ''}>${escapeHtml(titleOf(documents, url))}</a></li>`
  return groupsOf(documents)
    .map(({ title, urls }) => `<div><h2>${title}</h2><ul>${urls.map(item).join('')}</ul></div>`)
    .join('')
}

export function documentPage(documents: Documents, document: Document): Rendered {
  return html(
    200,
    layout(
      `${escapeHtml(document.title)} · Storekeeper`,
      `<main class="wide"><nav aria-label="Docs">${contents(documents, document.url)}</nav><article>${SEARCH_FORM()}${document.html}</article></main>`,
    ),
    'with search',
  )
}

export function docsHome(documents: Documents): Rendered {
  const [start, tutorials, ...others] = groupsOf(documents) as [Group, Group, ...Group[]]
  const card = (url: string) =>
    `<a class="card" href="${url}"><b>${escapeHtml(titleOf(documents, url))}</b>${escapeHtml(ABOUT[url] ?? '')}</a>`
  const list = ({ title, urls }: Group) =>
    `<h2 id="${title.toLowerCase().replaceAll(' ', '-')}">${title}</h2><ul class="columns">${urls
      .map((url) => `<li><a href="${url}">${escapeHtml(titleOf(documents, url))}</a></li>`)
      .join('')}</ul>`
  return html(
    200,
    layout(
      'Docs · Storekeeper',
      `<main><h1>Docs</h1>${SEARCH_FORM()}<div class="cards">${[...start.urls, ...tutorials.urls].map(card).join('')}</div>${others.map(list).join('')}</main>`,
    ),
    'with search',
  )
}

const ABOUT: Record<string, string> = {
  '/docs/start': 'Run the service and send your first requests.',
  '/docs/tutorials/protect-your-api': 'Issue keys and verify them in an Express API.',
  '/docs/tutorials/connect-your-logins': 'Keep addresses for the accounts your shop already has.',
  '/docs/tutorials/checkout-addresses': 'Ask for what each country needs, and check it.',
}

const MAX_RESULTS = 30

export function searchPage(entries: SearchEntry[], query: string): Rendered {
  const { found, words } = findEntries(entries, query)
  const results = found
    .slice(0, MAX_RESULTS)
    .map(
      (entry) =>
        `<li><a href="${escapeHtml(entry.url)}">${entry.route ? `${badge(entry.route)} ` : ''}${escapeHtml(entry.title)}</a> <span class="quiet small">${escapeHtml(entry.page)}</span><p>${excerpt(entry.text, words)}</p></li>`,
    )
  const summary =
    found.length === 0
      ? 'Nothing was found. Try fewer or other words.'
      : `${found.length} ${found.length === 1 ? 'result' : 'results'}${found.length > MAX_RESULTS ? `, the best ${MAX_RESULTS} of them` : ''}`
  return html(
    200,
    layout(
      `${escapeHtml(query)} · Search · Storekeeper`,
      `<main><h1>Search</h1>${SEARCH_FORM(query)}<p class="quiet" role="status">${summary}</p><ul class="results">${results.join('')}</ul><p><a href="/docs">All docs</a></p></main>`,
    ),
    'with search',
  )
}

/** For a browser at a wrong URL. */
export const NOT_FOUND_PAGE: Rendered = html(
  404,
  layout(
    'Page not found · Storekeeper',
    `<main><h1>Page not found</h1><p>There is no page at this address. Check it for typos, or look for what you need:</p>${SEARCH_FORM()}<ul><li><a href="/docs">Docs</a>: tutorials, guides and the reference</li><li><a href="/docs/reference">Every operation of the API</a></li><li><a href="/errors">Errors</a></li></ul></main>`,
  ),
  'with search',
)
