// Commands that people copy into a shell.

/** A word as a shell takes it, whatever is in it. */
export function quoted(word: string): string {
  return /^[\w@%+:,./-][\w@%+=:,./-]*$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
