// Finds our tokens in bytes that come in pieces of any size. Only a token whose checksum is right counts, so what
// stands before and after it does not matter: `%3Dskp_prod_…` in a URL is found too.

import { Secret } from '../../../../src/crypto/secret.ts'
import { TOKEN_KINDS, type TokenKind, tokenKind, tokenLength } from '../../../../src/crypto/tokens.ts'

export type Finding = {
  kind: TokenKind
  token: Secret
  /** As a key's `start` in the API: enough to tell which, too little to use. */
  start: string
  /** Both count from 1; the column counts bytes, as grep does. */
  line: number
  column: number
}

/** Gives the bytes from one offset to another once more, in order and to the last. */
export type ReadAgain = (from: number, to: number, count: (bytes: Buffer) => void) => void

const NEWLINE = 10
const START_CHARACTERS = 4
const NOTHING = Buffer.alloc(0)

export class Search {
  readonly #prefix: string
  readonly #needle: Buffer
  /** How many characters of a token stand before the needle. */
  readonly #lead: number
  readonly #longest: number

  /** Where the text of this piece begins in the whole. */
  #offset = 0
  /** The end of what was read before, shorter than a token: one may have begun there. */
  #tail: Buffer = NOTHING
  /** How far lines have been counted, in the whole. */
  #counted = 0
  #line = 1
  #lineStart = 0
  #readAgain: ReadAgain | null = null

  constructor(prefix: string) {
    this.#prefix = prefix
    this.#lead = rarest(prefix)
    this.#needle = Buffer.from(`${prefix}_`.slice(this.#lead))
    this.#longest = Math.max(...TOKEN_KINDS.map((kind) => tokenLength(prefix, kind)))
  }

  /**
   * A new text begins. Counting lines costs more than searching, so it waits for a finding where the text can be read
   * again: large text files are scanned three times as fast.
   */
  begin(readAgain: ReadAgain | null = null): void {
    this.#readAgain = readAgain
    this.#offset = 0
    this.#tail = NOTHING
    this.#counted = 0
    this.#line = 1
    this.#lineStart = 0
  }

  /** The tokens that end in this piece, which may be overwritten afterwards. `more` says whether another may follow. */
  read(piece: Buffer, more: boolean): Finding[] {
    const findings = this.#tail.length > 0 ? this.#acrossTheBorder(piece) : []
    for (let at = piece.indexOf(this.#needle); at >= 0; at = piece.indexOf(this.#needle, at + 1)) {
      const begin = at - this.#lead
      const found = begin < 0 ? null : this.#tokenAt(piece, begin)
      if (found) findings.push(this.#findingAt(this.#offset + begin, found, piece))
    }
    if (more) {
      if (!this.#readAgain) this.#countLines(this.#offset + piece.length, piece)
      this.#keepTail(piece)
      this.#offset += piece.length
    }
    return findings
  }

  /** A token holds no line break, so it does not matter whether lines were counted up to it or up to the border. */
  #acrossTheBorder(piece: Buffer): Finding[] {
    const border = this.#tail.length
    const joined = Buffer.concat([this.#tail, piece.subarray(0, this.#longest - 1)])
    const findings: Finding[] = []
    for (let at = joined.indexOf(this.#needle); at >= 0; at = joined.indexOf(this.#needle, at + 1)) {
      const begin = at - this.#lead
      if (begin >= border) break
      const found = begin < 0 ? null : this.#tokenAt(joined, begin)
      // What ends before the border was found when that piece was read.
      if (!found || begin + found.text.length <= border) continue
      findings.push(this.#findingAt(this.#offset - border + begin, found, piece))
    }
    return findings
  }

  #tokenAt(bytes: Buffer, begin: number): { kind: TokenKind; text: string } | null {
    const text = bytes.toString('latin1', begin, begin + this.#longest)
    const kind = TOKEN_KINDS.find((one) => text.startsWith(`${one}_`, this.#prefix.length + 1))
    if (!kind) return null
    const token = text.slice(0, tokenLength(this.#prefix, kind))
    return tokenKind(this.#prefix, token) ? { kind, text: token } : null
  }

  #findingAt(offset: number, { kind, text }: { kind: TokenKind; text: string }, piece: Buffer): Finding {
    this.#countLines(offset, piece)
    return {
      kind,
      token: new Secret(text),
      start: text.slice(0, text.lastIndexOf('_') + 1 + START_CHARACTERS),
      line: this.#line,
      column: offset - this.#lineStart + 1,
    }
  }

  #countLines(to: number, piece: Buffer): void {
    const border = Math.min(to, this.#offset)
    if (this.#counted < border) this.#readAgain?.(this.#counted, border, (bytes) => this.#countIn(bytes))
    if (this.#counted < to) this.#countIn(piece.subarray(this.#counted - this.#offset, to - this.#offset))
  }

  #countIn(bytes: Buffer): void {
    for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) {
      this.#line++
      this.#lineStart = this.#counted + at + 1
    }
    this.#counted += bytes.length
  }

  #keepTail(piece: Buffer): void {
    const most = this.#longest - 1
    // Both make a copy.
    this.#tail =
      piece.length >= most
        ? Buffer.from(piece.subarray(piece.length - most))
        : Buffer.concat([this.#tail, piece]).subarray(-most)
  }
}

/** From common to rare in source code and English. */
const LETTERS = 'etaoinsrlcdpumfhgbyvw0123xk456789jqz'

/**
 * Node looks for the first byte of the needle and compares the rest only there, so a needle that begins with a rare
 * letter is faster: in source code `kp_` is searched at 5.1 GB/s, `skp_` at 1.5. Three characters at least are left.
 */
function rarest(prefix: string): number {
  const ranks = [...prefix.slice(0, -1)].map((letter) => LETTERS.indexOf(letter))
  return ranks.indexOf(Math.max(...ranks))
}
