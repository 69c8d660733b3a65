// Takes lines and numbers of bytes from a stream, whatever the sizes in which it comes.

/** The stream ended too early. */
export class CutOff extends Error {}

export class ByteReader {
  readonly #source: AsyncIterator<Buffer>
  #waiting: Buffer = Buffer.alloc(0)

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]()
  }

  async take(size: number): Promise<Buffer> {
    const parts = [this.#waiting]
    let length = this.#waiting.length
    while (length < size) {
      const part = await this.#next()
      if (!part) throw new CutOff()
      parts.push(part)
      length += part.length
    }
    const all = parts.length === 1 ? this.#waiting : Buffer.concat(parts)
    this.#waiting = all.subarray(size)
    return all.subarray(0, size)
  }

  /** Without its line feed. */
  async line(maxBytes: number): Promise<string> {
    for (let length = 0; length <= maxBytes; length++) {
      const end = (await this.#holds(length + 1)) ? this.#waiting[length] : undefined
      if (end === undefined) throw new CutOff()
      if (end === 0x0a) return (await this.take(length + 1)).toString('utf8', 0, length)
    }
    throw new CutOff()
  }

  async atEnd(): Promise<boolean> {
    return !(await this.#holds(1))
  }

  async *rest(): AsyncGenerator<Buffer> {
    if (this.#waiting.length > 0) yield this.#waiting
    for (let part = await this.#next(); part; part = await this.#next()) yield part
  }

  async #holds(size: number): Promise<boolean> {
    while (this.#waiting.length < size) {
      const part = await this.#next()
      if (!part) return false
      this.#waiting = Buffer.concat([this.#waiting, part])
    }
    return true
  }

  async #next(): Promise<Buffer | null> {
    const { done, value } = await this.#source.next()
    return done ? null : value
  }
}
