// The search of the docs, on the server: every section of the documents, every operation and every error is an entry, and
// an entry is found that has all the words.

import { ERRORS } from '../../core/errors.ts'
import type { Route } from '../../core/route.ts'
import { normalForm } from '../../core/unicode.ts'
import { FAULTS } from './faults.ts'
import { escapeHtml, pathTemplate } from './layout.ts'
import type { Document } from './markdown.ts'

type Words = { title: string; page: string; text: string }

/** `lower`: in lower case, once: everybody may search. */
export type SearchEntry = Words & { url: string; route?: Route; lower: Words }

export function buildIndex(documents: Iterable<Document>, routes: Route[]): SearchEntry[] {
  const sections = [...documents].flatMap(({ title, sections }) =>
    sections.map((section) => ({ ...section, page: section.title === title ? 'Docs' : title })),
  )
  const operations = routes.map((route) => ({
    url: `/docs/reference#${route.id}`,
    title: route.summary,
    page: 'Operation',
    text: `${route.method} ${pathTemplate(route)} ${route.id}: ${route.description.replaceAll('`', '')}`,
    route,
  }))
  const errors = Object.entries({ ...FAULTS, ...ERRORS }).map(([code, { title, help }]) => ({
    url: `/errors/${code}`,
    title: code,
    page: 'Error',
    text: `${title}. ${help}`,
  }))
  return [...errors, ...operations, ...sections].map((entry) => {
    const [title, page, text] = [entry.title.toLowerCase(), entry.page.toLowerCase(), entry.text.toLowerCase()]
    return { ...entry, lower: { title, page, text } }
  })
}

const MAX_QUERY_LENGTH = 100
const MAX_WORDS = 8

export function findEntries(entries: SearchEntry[], query: string): { found: SearchEntry[]; words: string[] } {
  const wanted = normalForm(query.slice(0, MAX_QUERY_LENGTH), 'NFKC').toLowerCase().trim()
  const words = [...new Set(wanted.split(/[\s,;"'?!()]+/).filter((word) => word !== ''))].slice(0, MAX_WORDS)
  if (words.length === 0) return { found: [], words }
  const found = entries
    .map((entry) => ({ entry, score: scoreOf(entry, wanted, words) }))
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score)
    .map(({ entry }) => entry)
  return { found, words }
}

/** 0: a word is missing. A title counts for more than a text, and the whole query as a title for most. */
function scoreOf({ lower: { title, page, text } }: SearchEntry, query: string, words: string[]): number {
  let score = title === query ? 100 : 0
  for (const word of words) {
    const points = (title.includes(word) ? 20 : 0) + (page.includes(word) ? 8 : 0) + timesIn(text, word)
    if (points === 0) return 0
    score += points
  }
  return score
}

const MAX_TIMES = 5

function timesIn(text: string, word: string): number {
  let times = 0
  for (let at = text.indexOf(word); at >= 0 && times < MAX_TIMES; at = text.indexOf(word, at + word.length)) times++
  return times
}

const BEFORE = 80
const EXCERPT_LENGTH = 240

/** The text around the first word that was found, with every word marked. */
export function excerpt(text: string, words: string[]): string {
  const flat = text.replace(/\s+/g, ' ').trim()
  const lower = flat.toLowerCase()
  const places = words.map((word) => lower.indexOf(word)).filter((place) => place >= 0)
  const start = Math.max(0, Math.min(...places, flat.length) - BEFORE)
  const from = places.length === 0 || start === 0 ? 0 : flat.indexOf(' ', start) + 1
  const part = flat.slice(from, from + EXCERPT_LENGTH)
  const pattern = new RegExp(words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|'), 'gi')
  let marked = ''
  let at = 0
  for (const match of part.matchAll(pattern)) {
    marked += `${escapeHtml(part.slice(at, match.index))}<mark>${escapeHtml(match[0])}</mark>`
    at = match.index + match[0].length
  }
  const more = from + EXCERPT_LENGTH < flat.length
  return `${from > 0 ? '… ' : ''}${marked}${escapeHtml(part.slice(at))}${more ? ' …' : ''}`
}
