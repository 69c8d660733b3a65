import { once } from 'node:events'
import net from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { shop } from '../../tests/shop.ts'

const SIGN_IN = 'POST /v1/auth/sign-in HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 99\r\n'

test.each([
  ['that have never sent anything, as browsers open them in advance', ''],
  ['whose request never becomes whole', 'GET /readyz HTTP/1.1\r\nhost: x\r\n'],
  ['whose request has a body that does not come', `${SIGN_IN}\r\n`],
  ['whose request has a body that never becomes whole', `${SIGN_IN}\r\n{`],
])('a node that is told to stop does not wait for connections %s', async (_, sent) => {
  const { api, service } = await shop({ alone: true })
  const socket = net.connect(Number(new URL(api.url).port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  if (sent) socket.write(sent)
  // It was accepted before this one.
  expect((await api.get('/readyz')).status).toBe(200)
  const closed = once(socket, 'close')
  await service.close()
  await closed
})

test('a request that is on its way when a node is told to stop is still answered', async () => {
  const { api, service } = await shop({ alone: true })
  const socket = net.connect(Number(new URL(api.url).port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  socket.write('GET /v1/countries/DE HTTP/1.1\r\nhost: x\r\n')
  expect((await api.get('/readyz')).status).toBe(200)
  const stopped = service.close()
  await expect
    .poll(async () =>
      api.get('/livez').then(
        () => 'open',
        () => 'closed',
      ),
    )
    .toBe('closed')
  socket.write('\r\n')
  const [answer] = await once(socket, 'data')
  expect(String(answer)).toContain('HTTP/1.1 200 OK')
  await stopped
})
