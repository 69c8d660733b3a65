// A secret in the code is a `Secret`, which prints as `[secret]` wherever it is logged or serialized. The plain value
// is asked for by name, so `reveal()` is the word to search for to see where secrets go.

export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  reveal(): string {
    return this.#value
  }

  toString(): string {
    return '[secret]'
  }

  toJSON(): string {
    return '[secret]'
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return '[secret]'
  }
}
