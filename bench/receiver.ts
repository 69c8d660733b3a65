// The other side of a webhook, as a process of its own: takes everything, counts it, and answers 204.
// GET / tells the count.

import { createServer } from 'node:http'

let count = 0
const server = createServer((request, response) => {
  if (request.method === 'GET') return void response.end(String(count))
  request.resume()
  request.on('end', () => {
    count += 1
    response.writeHead(204).end()
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : 0
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}`, msg: 'listening' })}\n`)
})
process.once('SIGTERM', () => process.exit())
