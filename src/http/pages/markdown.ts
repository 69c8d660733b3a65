// The documents in docs/, and the README, as HTML. They are read and rendered when the first page is asked for. The text is
// our own; raw HTML in it, which is only comments, is left out all the same.

import { readdir, readFile } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Marked, Token, Tokens } from 'marked'
import { escapeHtml, wrappable } from './layout.ts'

/** A document by its URL. */
export type Document = { url: string; title: string; html: string; sections: Section[] }
/** What stands below one heading. */
type Section = { url: string; title: string; text: string }

/** The same from `src` and from `dist`. */
const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

/** Documents whose page has another place than its file. */
const PLACES: Record<string, string> = {
  'README.md': '/docs/start',
  'CHANGELOG.md': '/docs/changelog',
  'docs/errors.md': '/errors',
  'docs/openapi.json': '/openapi.json',
  'docs/decisions': '/docs#decisions',
}

export async function readDocuments(): Promise<Map<string, Document>> {
  const inDocs = (await readdir(join(ROOT, 'docs'), { recursive: true })).filter((name) => name.endsWith('.md'))
  const files = ['README.md', 'CHANGELOG.md', ...inDocs.map((name) => join('docs', name))].toSorted()
  const known = new Set([...files, ...Object.keys(PLACES)])
  const { Marked: Renderer } = await import('marked')
  const documents = new Map<string, Document>()
  for (const file of files.filter((name) => name !== 'docs/errors.md')) {
    const document = render(Renderer, file, await readFile(join(ROOT, file), 'utf8'), known)
    documents.set(document.url, document)
  }
  return documents
}

function urlOf(file: string): string {
  return PLACES[file] ?? `/${file.replace(/\.md$/, '')}`
}

function render(Renderer: typeof Marked, file: string, text: string, known: Set<string>): Document {
  const url = urlOf(file)
  const marked = new Renderer({
    renderer: {
      html: () => '',
      heading({ depth, text, tokens }) {
        return `<h${depth} id="${anchorOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>`
      },
      link({ href, tokens }) {
        const target = resolveLink(file, href, known)
        const inner = this.parser.parseInline(tokens)
        return target === null ? inner : `<a href="${escapeHtml(target)}">${inner}</a>`
      },
      // Pictures are for the README on GitHub: this service has what they show.
      image: () => '',
      codespan: ({ text }) => `<code>${wrappable(text)}</code>`,
      code: ({ text, lang }) =>
        `<pre tabindex="0"${lang === 'text' ? ' class="output"' : ''}>${escapeHtml(text)}</pre>`,
      table({ header, rows }) {
        const cells = (row: Tokens.TableCell[], tag: string) =>
          `<tr>${row.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`).join('')}</tr>`
        const body = rows.map((row) => cells(row, 'td')).join('')
        return `<div class="scroll"><table>${cells(header, 'th')}${body}</table></div>`
      },
    },
  })
  const tokens = marked.lexer(text)
  const title = tokens.find((token): token is Tokens.Heading => token.type === 'heading')?.text ?? file
  return { url, title: plain(title), html: marked.parser(tokens), sections: sectionsOf(url, title, tokens) }
}

/** As GitHub makes them, so that one link serves both. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')
}

/** Null for a link to a file that is not served, such as one of the source. */
function resolveLink(from: string, href: string, known: Set<string>): string | null {
  if (/^https?:/.test(href)) return href
  const [path, anchor] = href.split('#') as [string, string?]
  const file = path === '' ? from : normalize(join(dirname(from), path)).replace(/\/$/, '')
  if (!known.has(file)) return null
  const isRendered = file.endsWith('.md') && file !== 'docs/errors.md'
  return `${urlOf(file)}${anchor && isRendered ? `#${anchor}` : ''}`
}

function sectionsOf(url: string, title: string, tokens: Token[]): Section[] {
  const sections: Section[] = [{ url, title: plain(title), text: '' }]
  for (const token of tokens) {
    if (token.type === 'heading' && token.depth > 1)
      sections.push({ url: `${url}#${anchorOf(token.text)}`, title: plain(token.text), text: '' })
    else if (token.type !== 'heading' && token.type !== 'html') (sections.at(-1) as Section).text += `${textOf(token)} `
  }
  return sections
}

function plain(text: string): string {
  return text.replaceAll('`', '')
}

/** The words of a token without its markup. */
function textOf(token: Token): string {
  if (token.type === 'table') {
    const { header, rows } = token as Tokens.Table
    return [header, ...rows].map((row) => row.map((cell) => cell.tokens.map(textOf).join('')).join(' ')).join(' ')
  }
  if (token.type === 'list') return (token as Tokens.List).items.map(textOf).join(' ')
  if ('tokens' in token && token.tokens) return token.tokens.map(textOf).join('')
  return 'text' in token ? token.text : ' '
}
