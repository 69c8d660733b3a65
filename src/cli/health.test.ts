import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { call } from '../../tests/command.ts'
import { run } from './run.ts'

test('health asks the service with these settings, on loopback where it listens everywhere', async () => {
  const answers = [
    { code: 200, text: '{"status":"ready"}' },
    { code: 503, text: '{"status":"stopping"}' },
    { code: 502, text: '<h1>Bad gateway</h1>' },
  ]
  const paths: (string | undefined)[] = []
  const server = createServer(({ url }, response) => {
    paths.push(url)
    const { code, text } = answers.shift() as { code: number; text: string }
    response.writeHead(code).end(text)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const env = { HOST: '0.0.0.0', PORT: String((server.address() as AddressInfo).port) }
  expect(await call(run, ['health'], { env })).toMatchObject({ code: 0, out: 'ready\n', err: '' })
  expect(await call(run, ['health'], { env })).toMatchObject({ code: 1, out: '', err: 'Not ready: stopping\n' })
  expect(await call(run, ['health'], { env })).toMatchObject({ code: 1, out: '', err: 'Not ready: status 502\n' })
  expect(paths).toEqual(['/readyz', '/readyz', '/readyz'])
  server.close()
  await once(server, 'close')
  const { code, err } = await call(run, ['health'], { env })
  expect([code, err]).toEqual([1, expect.stringMatching(/^Nothing answers at 0\.0\.0\.0:\d+: .*ECONNREFUSED/)])
  expect(await call(run, ['health'], { env: { PORT: '0' } })).toMatchObject({ code: 1, out: '' })
})
