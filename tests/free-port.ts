// A port for whoever has to be told its number before it listens.

import { createServer } from 'node:net'

/** Below those that the system hands out, and twenty for each process: no other test is given one before it is used. */
let next = 20_000 + (process.pid % 600) * 20

export async function freePort(): Promise<number> {
  const port = next++
  const isFree = await new Promise<boolean>((resolve) => {
    const server = createServer().once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
  return isFree ? port : freePort()
}
