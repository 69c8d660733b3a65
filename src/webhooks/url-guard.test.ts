import { createServer } from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { leastCpuTime } from '../../tests/cpu-time.ts'
import { NEW_KEY, shop, untilTried } from '../../tests/shop.ts'
import { receiver } from '../../tests/webhook-receiver.ts'
import type { Resolve } from '../core/dns.ts'
import { newSender } from './sender.ts'
import { isPublic, parseWebhookUrl } from './url-guard.ts'

const PUBLIC = '93.184.215.14'
/** Inner addresses, and every way there is to write them. */
const INNER = [
  '127.0.0.1',
  '2130706433',
  '0x7f.1',
  '0177.0.0.1',
  '127.1',
  '0.0.0.0',
  '0',
  '[::1]',
  '[::]',
  '[::ffff:7f00:1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:93.184.215.14]',
  '[::7f00:1]',
  '①②⑦.⓪.⓪.①',
  '127.0.0.1.',
  '10.1.2.3',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '169.254.169.254',
  '100.64.0.1',
  '100.127.255.255',
  '192.0.0.1',
  '192.0.2.1',
  '198.18.0.1',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.1',
  '255.255.255.255',
  '[fd00::1]',
  '[fc00::1]',
  '[fe80::1]',
  '[fec0::1]',
  '[ff02::1]',
  '[64:ff9b::7f00:1]',
  '[64:ff9b:1::1]',
  '[2002:7f00:1::]',
  '[2001::1]',
  '[2001:db8::1]',
  '[100::1]',
  '[::ffff:0:7f00:1]',
]

async function stall(answers: Record<string, string[]>) {
  const looks: string[] = []
  const resolve: Resolve = async (host) => {
    looks.push(host)
    const found = answers[host]
    if (!found) throw Object.assign(new Error('unknown'), { code: 'ENOTFOUND' })
    return found
  }
  const world = await shop({}, { resolve })
  const webhooks = `/v1/user/store/${world.store.id}/webhooks`
  const as = world.owner.token
  // Nothing is ever sent to a public address from here: only the one test of them that means to makes a key.
  const make = (url: string) => world.api.post(webhooks, { url, types: ['key.*'] }, { as })
  return { ...world, webhooks, as, make, looks }
}

test('34. addresses of the public internet pass, and no other', () => {
  for (const address of [PUBLIC, '1.1.1.1', '100.63.255.255', '172.32.0.1', '2606:4700::1111', '2a00:1450::1'])
    expect([address, isPublic(address)]).toEqual([address, true])
  for (const address of [
    '',
    'localhost',
    '127.0.0.1',
    '::1',
    '::ffff:1.1.1.1',
    'fe80::1%eth0',
    '64:ff9b::1.1.1.1',
    '168.63.129.16',
  ])
    expect([address, isPublic(address)]).toEqual([address, false])
})

test('34. 422: a URL that is not https, holds a password, or leads to a port of something else', async () => {
  const { make } = await stall({ 'shop.example': [PUBLIC] })
  const cases: [string, string][] = [
    ['http://shop.example/', 'https_required'],
    ['ftp://shop.example/', 'https_required'],
    ['file:///etc/passwd', 'https_required'],
    ['gopher://shop.example/', 'https_required'],
    ['https://user:pass@shop.example/', 'credentials_in_url'],
    ['https://user@shop.example/', 'credentials_in_url'],
    ['https://localhost/', 'forbidden_address'],
    ['https://localhost./', 'forbidden_address'],
    ['https://shop.localhost/', 'forbidden_address'],
    ['https://a..b/', 'invalid_url'],
    ['https://-/', 'invalid_url'],
    [`https://${'a'.repeat(64)}.example/`, 'invalid_url'],
    [`https://${'abc.'.repeat(90)}example/`, 'invalid_url'],
    ['https://shop.example:0/', 'forbidden_port'],
    ['https://shop.example:22/', 'forbidden_port'],
    ['https://shop.example:25/', 'forbidden_port'],
    ['https://shop.example:5432/', 'forbidden_port'],
    ['shop.example', 'invalid_url'],
    ['https://', 'invalid_url'],
    ['https://[fe80::1%25eth0]/', 'invalid_url'],
    ['https://256.1.1.1/', 'invalid_url'],
  ]
  for (const [url, code] of cases) {
    const { status, body } = await make(url)
    expect([url, status, body.errors]).toEqual([url, 422, [expect.objectContaining({ pointer: '#/url', code })]])
  }
  const worst = (await make('http://user:pass@10.0.0.1:22/')).body.errors.map(({ code }: { code: string }) => code)
  expect(worst).toEqual(['https_required', 'credentials_in_url', 'forbidden_port', 'forbidden_address'])
  expect((await make('https://shop.example:8443/hooks?shop=1')).status).toBe(201)
  expect((await make(`https://${'a'.repeat(3000)}.example/`)).body.errors[0].code).toBe('too_long')
})

test('34. 422: an inner address, however it is written, when it is made and when it is changed', async () => {
  const { api, as, make, webhooks, looks } = await stall({ 'shop.example': [PUBLIC] })
  const { body: webhook } = await make('https://shop.example/')
  looks.length = 0
  for (const host of INNER) {
    const url = `https://${host}/hooks`
    for (const { status, body } of [await make(url), await api.patch(`${webhooks}/${webhook.id}`, { url }, { as })])
      expect([host, status, body.errors?.[0]?.code]).toEqual([host, 422, 'forbidden_address'])
  }
  expect(looks).toEqual([])
  expect((await api.get(`${webhooks}/${webhook.id}`, { as })).body.url).toBe('https://shop.example/')
})

test('34. 422: a name that stands for an inner address, be it one of many', async () => {
  const { make } = await stall({
    'inner.example': ['10.0.0.1'],
    'mixed.example': [PUBLIC, '127.0.0.1'],
    'six.example': ['2606:4700::1111', '::1'],
    'mapped.example': ['::ffff:169.254.169.254'],
    localhost: ['127.0.0.1'],
    'localhost.': ['::1'],
  })
  for (const host of ['inner.example', 'mixed.example', 'six.example', 'mapped.example', 'localhost', 'localhost.'])
    expect([host, (await make(`https://${host}/`)).body.errors?.[0]?.code]).toEqual([host, 'forbidden_address'])
  // One that nobody knows yet may be made: it is looked at again whenever something is sent.
  expect((await make('https://tomorrow.example/')).status).toBe(201)
})

test('34. a name that points inward at the second look is not followed', async () => {
  const answers = { 'rebind.example': [PUBLIC] }
  const { api, as, make, keys, webhooks } = await stall(answers)
  const heard: net.Socket[] = []
  const inner = net.createServer((socket) => void heard.push(socket))
  await new Promise<void>((resolve) => inner.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void inner.close())
  const { body: webhook } = await make(`https://rebind.example:${(inner.address() as AddressInfo).port}/`)
  answers['rebind.example'] = ['127.0.0.1']
  await api.post(keys, NEW_KEY, { as })
  for (;;) {
    const [delivery] = (await api.get(`${webhooks}/${webhook.id}/deliveries`, { as })).body.data
    if (!delivery?.attempts) continue
    expect([delivery.error, delivery.responseStatus]).toEqual(['forbidden_address', null])
    break
  }
  expect(heard).toEqual([])
})

test('34. the way out itself refuses inner addresses: as a literal, from DNS, and on the connection', async () => {
  const heard: unknown[] = []
  const server = createServer((request, response) => {
    heard.push(request.url)
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const forbidden = { error: 'forbidden_address' }

  let looks = 0
  const sender = newSender(async () => (looks++ % 2 ? ['127.0.0.1'] : [PUBLIC, '127.0.0.1']), false)
  onTestFinished(() => sender.close())
  for (const host of ['127.0.0.1', '0x7f.1', '2130706433', '[::1]', '[::ffff:127.0.0.1]'])
    expect(await sender.post(`http://${host}:${port}/`, {}, '')).toEqual(forbidden)
  expect(looks).toBe(0)
  for (let look = 0; look < 4; look++)
    expect(await sender.post(`http://mixed.example:${port}/`, {}, '')).toEqual(forbidden)
  expect(looks).toBe(4)
  expect(heard).toEqual([])
})

test('35. redirects are not followed, and are no success', async () => {
  const inner = await receiver()
  const far = await receiver((response) => void response.writeHead(302, { location: inner.url }).end())
  const { api, owner, store } = await shop({ WEBHOOK_ALLOW_PRIVATE: 'on' })
  const webhooks = `/v1/user/store/${store.id}/webhooks`
  const { body } = await api.post(webhooks, { url: far.url, types: ['*'] }, { as: owner.token })
  await far.messages(1)
  for (;;) {
    const [delivery] = (await api.get(`${webhooks}/${body.id}/deliveries`, { as: owner.token })).body.data
    if (delivery.attempts === 0) continue
    expect([delivery.status, delivery.responseStatus]).toEqual(['PENDING', 302])
    break
  }
  expect(inner.received).toEqual([])
})

test('many names for one address are one host', async () => {
  const { url } = await receiver()
  const sender = newSender(async () => ['127.0.0.1'], true)
  onTestFinished(() => sender.close())
  const names = ['one.example', 'two.example']
  expect(names.map(sender.addressOf)).toEqual([undefined, undefined])
  for (const name of names) await sender.post(url.replace('127.0.0.1', name), {}, '{}')
  expect(names.map(sender.addressOf)).toEqual(['127.0.0.1', '127.0.0.1'])
})

test('many names for one address are one host, though nothing there speaks TLS, or answers at all', async () => {
  const { url } = await receiver()
  const sender = newSender(async () => ['127.0.0.1'], true)
  onTestFinished(() => sender.close())
  const { port } = new URL(url)
  expect(await sender.post(`https://one.example:${port}/`, {}, '{}')).toEqual({ error: 'tls_failed' })
  expect(await sender.post('http://two.example:1/', {}, '{}')).toEqual({ error: 'connection_failed' })
  expect(['one.example', 'two.example'].map(sender.addressOf)).toEqual(['127.0.0.1', '127.0.0.1'])
})

test('35. an answer without end is cut off, one that drips or never comes runs out of time', async () => {
  const [patient, hasty] = [newSender(async () => ['127.0.0.1'], true), newSender(async () => ['127.0.0.1'], true, 500)]
  onTestFinished(() => patient.close())
  onTestFinished(() => hasty.close())
  let written = 0
  const endless = await receiver((response) => {
    const chunk = Buffer.alloc(64 * 1024, 'x')
    const pipeEvents = () => {
      while (!response.destroyed && written < 100 * 1024 * 1024) {
        written += chunk.length
        if (!response.write(chunk)) return void response.once('drain', pipeEvents)
      }
      response.end()
    }
    pipeEvents()
  })
  expect(await patient.post(endless.url, {}, '{}')).toEqual({ status: 200, body: 'x'.repeat(1024), retryAfter: null })
  expect(written).toBeLessThan(20 * 1024 * 1024)

  const drip = await receiver((response) => {
    const timer = setInterval(() => response.write('x'), 50)
    response.on('close', () => clearInterval(timer))
  })
  const never = await receiver(() => {})
  for (const { url } of [drip, never]) expect(await hasty.post(url, {}, '{}')).toEqual({ error: 'timeout' })
})

test('35. an endpoint that never answers makes nobody wait but itself', async () => {
  const { api, owner, store, keys } = await shop({ WEBHOOK_ALLOW_PRIVATE: 'on' })
  const webhooks = `/v1/user/store/${store.id}/webhooks`
  const [never, good] = [await receiver(() => {}), await receiver()]
  for (const { url } of [never, good]) await api.post(webhooks, { url, types: ['key.*'] }, { as: owner.token })
  await Promise.all(Array.from({ length: 60 }, () => untilTried(() => api.post(keys, NEW_KEY, { as: owner.token }))))
  await good.messages(60)
  // One at a time, since it has not answered yet: the rest of its messages wait for that one.
  expect(never.received).toHaveLength(1)
})

test('what went wrong on the way is told', async () => {
  const sender = newSender(async () => Promise.reject(Object.assign(new Error('none'), { code: 'ENOTFOUND' })), true)
  onTestFinished(() => sender.close())
  const far = await receiver()
  const closed = net.createServer()
  await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve))
  const { port } = closed.address() as AddressInfo
  await new Promise((resolve) => closed.close(resolve))
  expect(await sender.post('http://nowhere.example/', {}, '')).toEqual({ error: 'unknown_host' })
  expect(await sender.post(`http://127.0.0.1:${port}/`, {}, '')).toEqual({ error: 'connection_failed' })
  expect(await sender.post(far.url.replace('http:', 'https:'), {}, '')).toEqual({ error: 'tls_failed' })
})

test('a host of very many letters that are not ASCII costs no more than another text of its length', () => {
  const codeOf = (url: string) => {
    const faults: { code: string }[] = []
    parseWebhookUrl(url, false, faults as never)
    return faults[0]?.code
  }
  const timeOf = (url: string) =>
    leastCpuTime(5, () => {
      for (let n = 0; n < 5; n++) codeOf(url)
    })
  const letters = String.fromCharCode(...Array.from({ length: 2_000 }, (_, n) => 0x4e00 + n))
  expect(codeOf(`https://${letters}`)).toBe('invalid_url')
  expect(codeOf('https://b\u00fccher.example/hooks')).toBeUndefined()
  expect(timeOf(`https://${letters}`)).toBeLessThan(
    20 * Math.max(50, timeOf(`https://shop.example/${'x'.repeat(2_000)}`)),
  )
})
