import { expect, test } from 'vitest'
import { readEvents } from './sse.ts'

async function read(pieces: string[]): Promise<void> {
  const encoder = new TextEncoder()
  const left = pieces.values()
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const { done, value } = left.next()
      if (done) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
  })
  for await (const { kind } of readEvents(body)) expect(kind).toBe('beat')
}

test('a line that does not end costs no more the longer it is', async () => {
  const costOf = async (pieces: number) => {
    const times: number[] = []
    for (let n = 0; n < 3; n++) {
      const before = process.cpuUsage()
      await read(Array.from({ length: pieces }, () => 'x'.repeat(512)))
      const { user, system } = process.cpuUsage(before)
      times.push(user + system)
    }
    return Math.min(...times)
  }
  await costOf(1_000)
  // Six times as much; 36 times if all of it were looked through each time.
  expect((await costOf(6_000)) / (await costOf(1_000))).toBeLessThan(16)
})
