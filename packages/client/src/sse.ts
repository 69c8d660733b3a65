// Server-sent events, read from a response as its bytes come.

export type ServerSentEvent =
  /** Any line came, a comment too: the connection lives. */
  | { kind: 'beat' }
  | { kind: 'retry'; ms: number }
  /** Without data: how far the stream has come. */
  | { kind: 'id'; id: string }
  | { kind: 'event'; event: string; id: string; data: string }

/** An event has at most some hundred thousand. */
const MAX_BYTES = 8 * 1024 * 1024

/** Yields after each chunk at least once, so that a reader knows when bytes came. An event that is cut off is not told. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerSentEvent, void, undefined> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let [text, id, event] = ['', '', '']
  let data: string[] = []
  let [hasId, isOpen] = [false, false]
  let unfinished = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield { kind: 'beat' }
      const part = decoder.decode(value, { stream: true })
      text += part
      // A carriage return at the end may be the first half of a line break. A line that has not ended is not looked through again.
      const lines = isOpen || /[\r\n]/.test(part) ? text.split(/\r\n|\n|\r(?!$)/) : [text]
      isOpen = part.endsWith('\r')
      text = lines.pop() as string
      unfinished += value.length
      for (const line of lines) {
        if (line === '') {
          if (data.length > 0) yield { kind: 'event', event: event || 'message', id, data: data.join('\n') }
          else if (hasId) yield { kind: 'id', id }
          hasId = false
          event = ''
          data = []
          unfinished = 0
          continue
        }
        const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) as unknown as [string, string, string?]
        if (name === 'data') data.push(value)
        else if (name === 'event') event = value
        else if (name === 'id' && !value.includes('\0')) [id, hasId] = [value, true]
        else if (name === 'retry' && /^\d+$/.test(value)) yield { kind: 'retry', ms: Number(value) }
      }
      if (unfinished > MAX_BYTES) throw new Error('An event does not end.')
    }
  } finally {
    // Ends the connection, if it has not ended by itself.
    await reader.cancel().catch(() => {})
  }
}
