// "Did you mean": the one word that is a single slip of the fingers away.

/** Longer texts are no slip of anything. */
const MAX_LENGTH = 50
/** With fewer letters, one more or another one makes another word. */
const MIN_LENGTH = 4

/** The only one of the words that the text may stand for: but for case and separators (`store_id`), or within one edit. */
export function suggestWord(text: string, words: readonly string[]): string | undefined {
  if (text.length > MAX_LENGTH) return undefined
  const written = lettersOf(text)
  const same = words.filter((word) => lettersOf(word) === written)
  const near = words.filter((word) => word.length >= MIN_LENGTH && isOneEdit(written, lettersOf(word)))
  const [first, ...others] = same.length > 0 ? same : near
  return others.length === 0 ? first : undefined
}

function lettersOf(text: string): string {
  return text.replaceAll(/[_\s-]/g, '').toLowerCase()
}

/** Whether one letter left out, added, replaced or exchanged with its neighbour makes the one of the other. */
export function isOneEdit(a: string, b: string): boolean {
  if (a === b || Math.abs(a.length - b.length) > 1) return false
  let at = 0
  while (a[at] === b[at]) at++
  if (a.length > b.length) return a.slice(at + 1) === b.slice(at)
  if (a.length < b.length) return a.slice(at) === b.slice(at + 1)
  const isExchanged = a[at] === b[at + 1] && a[at + 1] === b[at] && a.slice(at + 2) === b.slice(at + 2)
  return isExchanged || a.slice(at + 1) === b.slice(at + 1)
}
