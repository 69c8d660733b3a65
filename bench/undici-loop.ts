// What deliveries are held against: undici in a loop, sending the same bytes as fast as it can. URL, COUNT, ABREAST.

import { Agent, request } from 'undici'

const { URL: url = '', COUNT = '1000', ABREAST = '4', BODY = '{}' } = process.env
const agent = new Agent()
let left = Number(COUNT)

async function fastPath(): Promise<void> {
  while (left-- > 0) {
    const { body } = await request(url, {
      method: 'POST',
      body: BODY,
      headers: { 'content-type': 'application/json' },
      dispatcher: agent,
    })
    await body.dump()
  }
}

const began = performance.now()
await Promise.all(Array.from({ length: Number(ABREAST) }, fastPath))
const perSecond = Number(COUNT) / ((performance.now() - began) / 1000)
process.stdout.write(`${JSON.stringify({ perSecond })}\n`)
await agent.close()
