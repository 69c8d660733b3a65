// Follows the stream of key changes as a back end does, frame by frame.

import http from 'node:http'
import { expect, onTestFinished, vi } from 'vitest'
import type { Api } from './shop.ts'

/** A test looks into frames freely, and a wrong look fails it. */
type Any = any

type Frame = { event: string; id: number; data: Any; at: number }

export type Following = {
  status: number
  headers: http.IncomingHttpHeaders
  hello: Any
  frames: Frame[]
  /** All ids that were told so far. */
  ids(): string[]
  /** Waits for the first frame of this kind after the first `after` frames. */
  next(event: string, after?: number): Promise<Frame>
  ended: Promise<void>
  response: http.IncomingMessage
  leave(): void
}

/** Asks again while the node has not begun to listen. */
export async function follow(api: Api, as: string, query = ''): Promise<Following> {
  for (;;) {
    const following = await followOnce(api, as, query)
    if (following.status === 503) continue
    if (following.status === 200) following.hello = (await following.next('hello')).data
    return following
  }
}

async function followOnce(api: Api, as: string, query: string): Promise<Following> {
  const request = http.get(`${api.url}/v1/keys/changes${query}`, {
    headers: { authorization: `Bearer ${as}` },
    agent: false,
  })
  onTestFinished(() => void request.destroy())
  const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
    request.once('response', resolve)
    request.once('error', reject)
  })
  request.on('error', () => {})
  const frames: Frame[] = []
  let rest = ''
  const ended = new Promise<void>((resolve) => {
    response.once('close', resolve)
  })
  response.on('error', () => {})
  response.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n\n')
    rest = parts.pop() as string
    for (const part of parts) frames.push(readFrame(part))
  })
  const next: Following['next'] = (event, after = 0) =>
    vi.waitFor(
      () => {
        const found = frames.slice(after).find((frame) => frame.event === event)
        expect(found, `no ${event} among ${frames.map((frame) => frame.event)}`).toBeDefined()
        return found as Frame
      },
      { timeout: 60_000, interval: 5 },
    )
  return {
    status: response.statusCode as number,
    headers: response.headers,
    hello: null,
    frames,
    ids: () => frames.flatMap(({ event, data }) => (event === 'changed' ? data.ids : [])),
    next,
    ended,
    response,
    leave: () => void request.destroy(),
  }
}

function readFrame(text: string): Frame {
  const [, event, id, data] = /^event: (\w+)\nid: (\d+)\ndata: (\{.*\})$/.exec(text) ?? []
  if (!event || !data) return { event: 'problem', id: 0, data: text, at: performance.now() }
  return { event, id: Number(id), data: JSON.parse(data), at: performance.now() }
}
