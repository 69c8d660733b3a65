// What others have written, be it a name, a line of a file or a service's answer, as a terminal may show it. It needs
// nothing, so packages/cli has it too.

export type Cell = string | number | boolean | null | undefined | readonly string[]

/** One line, without what a terminal would obey, or what would turn the direction of the text around. */
export function plain(cell: Cell): string {
  if (cell === null || cell === undefined) return ''
  const text = typeof cell === 'object' ? cell.join(',') : String(cell)
  return text.replace(
    /[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** The same for lines, with tabs between their cells, and for JSON: what is escaped there means the same. */
export function plainLines(text: string): string {
  return text.replace(/[^\n\t]+/g, plain)
}
