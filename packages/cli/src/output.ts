// How results are printed: as tables with colour on a terminal, as tabs in a pipe, as JSON where it was asked for.

import type { List } from '@storekeeper/client'
import { type Cell, plain } from '../../../src/cli/plain.ts'
import type { UserIo } from './io.ts'
import { quoted } from './shell.ts'

/** `time`: shown to the minute on a terminal. `state`: coloured by what it says. */
export type Column<Row> = { title: string; of: (row: Row) => Cell; kind?: 'time' | 'state' }
export type ListOptions = { all?: true; limit?: number; cursor?: string }

const CODES = { bold: '1', dim: '2', red: '31', green: '32', yellow: '33', cyan: '36' }
export type Style = keyof typeof CODES

const STATE_STYLES: Record<string, Style> = {
  ACTIVE: 'green',
  VALID: 'green',
  DELIVERED: 'green',
  enabled: 'green',
  done: 'green',
  created: 'green',
  DISABLED: 'yellow',
  disabled: 'yellow',
  FROZEN: 'yellow',
  EXPIRED: 'yellow',
  PENDING: 'yellow',
}
const QUIET_STATES = ['unchanged', 'exists', 'updated']
/** Rows whose widths are found together: a long list is printed as it comes. */
const ROWS_TOGETHER = 100

/** Of the last column, which is clipped where the terminal ends: less would say nothing. */
const MIN_LAST_WIDTH = 8

export type Output = ReturnType<typeof newOutput>

export function newOutput(io: UserIo, { json = false }: { json?: boolean | undefined }) {
  const screen = newScreen(io)
  const { isTerminal, paint } = screen
  const printJson = (value: unknown, { isLine = false } = {}) =>
    io.print(JSON.stringify(value, null, isTerminal && !isLine ? 2 : undefined))

  return {
    isTerminal,
    json,
    printJson,

    /** A line of its own, all of it in one style. */
    line(text: string, style: Style): void {
      io.printAsIs(paint(plain(text), style))
    },

    /** Of what was not asked for in --json. */
    table<Row>(rows: Row[], columns: Column<Row>[]): void {
      if (rows.length > 0) newTable(screen, columns)(rows)
    },

    /** One page, or with --all every item as it comes. */
    async list<Row>(
      list: List<Row, { data: Row[]; nextCursor: string | null }>,
      columns: Column<Row>[],
      given: ListOptions,
    ) {
      if (!given.all) {
        const page = await list.page()
        if (json) return printJson(page)
        if (page.data.length === 0) io.say('None.')
        this.table(page.data, columns)
        if (page.nextCursor)
          io.say(`There are more: --all for everything, or --cursor ${quoted(plain(page.nextCursor))}`)
        return
      }
      const print = newTable(screen, columns)
      let waiting: Row[] = []
      for await (const row of list) {
        if (json) printJson(row, { isLine: true })
        else if (waiting.push(row) === ROWS_TOGETHER) {
          print(waiting)
          waiting = []
        }
      }
      if (waiting.length > 0) print(waiting)
    },

    /** A thing, a line for each of its facts. */
    record<Row>(row: Row, columns: Column<Row>[]): void {
      if (json) return printJson(row)
      const lines = columns.map((column) => ({ ...column, text: show(screen, row, column) }))
      const width = Math.max(...lines.map(({ title }) => title.length)) + 2
      for (const { title, text, kind } of lines) {
        if (!isTerminal) io.print(`${title}\t${text}`)
        else if (text !== '')
          io.printAsIs(`${paint(title.padEnd(width), 'bold')}${paint(text, ...styleOf(text, kind))}`)
      }
    },
  }
}

/** Where is printed: a terminal, perhaps with colours, or a file or pipe. */
type Screen = ReturnType<typeof newScreen>

function newScreen(io: UserIo) {
  const isTerminal = io.stdout.isTTY === true
  const hasColour = isTerminal && !io.env.NO_COLOR && io.env.TERM !== 'dumb'
  const paint = (text: string, ...styles: Style[]) =>
    hasColour && styles.length > 0 ? `\x1b[${styles.map((style) => CODES[style]).join(';')}m${text}\x1b[0m` : text
  return { io, isTerminal, paint }
}

function show<Row>({ isTerminal }: Screen, row: Row, { of, kind }: Column<Row>): string {
  const text = plain(of(row))
  return kind === 'time' && isTerminal ? text.replace(/^(\S+)T(\d\d:\d\d).*Z$/, '$1 $2Z') : text
}

function styleOf(text: string, kind: Column<never>['kind']): Style[] {
  if (kind === 'time') return ['dim']
  if (kind !== 'state' || text === '' || QUIET_STATES.includes(text)) return []
  return [STATE_STYLES[text] ?? 'red']
}

/** Prints rows as they come; widths only grow from one batch to the next. */
function newTable<Row>(screen: Screen, columns: Column<Row>[]): (rows: Row[]) => void {
  const { io, isTerminal, paint } = screen
  let widths: number[] | null = null
  return (rows) => {
    const cells = rows.map((row) => columns.map((column) => show(screen, row, column)))
    if (!isTerminal) {
      for (const line of cells) io.print(line.join('\t'))
      return
    }
    const titles = columns.map(({ title }) => title.toUpperCase())
    const isFirst = widths === null
    widths = titles.map((title, n) =>
      Math.max(widths?.[n] ?? widthOf(title), ...cells.map((line) => widthOf(line[n] as string))),
    )
    const print = (line: string[], styles: Style[][]) =>
      io.printAsIs(
        alignedLine(line, widths as number[], io.stdout.columns, (text, n) => paint(text, ...(styles[n] ?? []))),
      )
    if (isFirst)
      print(
        titles,
        titles.map(() => ['bold']),
      )
    for (const line of cells)
      print(
        line,
        line.map((text, n) => styleOf(text, columns[n]?.kind)),
      )
  }
}

function alignedLine(
  cells: string[],
  widths: number[],
  columns: number | undefined,
  paint: (text: string, n: number) => string,
): string {
  const before = widths.slice(0, -1).reduce((sum, width) => sum + width + 2, 0)
  return cells
    .map((text, n) => {
      const isLast = n === cells.length - 1
      const fitting = isLast && columns ? clipped(text, Math.max(columns - before, MIN_LAST_WIDTH)) : text
      return paint(fitting, n) + (isLast ? '' : ' '.repeat((widths[n] as number) - widthOf(text) + 2))
    })
    .join('')
    .trimEnd()
}

function clipped(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  let kept = ''
  for (const character of text) {
    if (widthOf(kept + character) >= width) break
    kept += character
  }
  return `${kept}…`
}

const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u

/** How many places of a terminal a text takes. */
function widthOf(text: string): number {
  let width = 0
  for (const character of text) width += /\p{M}/u.test(character) ? 0 : WIDE.test(character) ? 2 : 1
  return width
}
