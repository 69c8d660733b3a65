// Messages of webhooks, as the service signs them and as others might.

import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { signedHeaders } from '../../../src/webhooks/signature.ts'
import { isStorekeeperError } from './error.ts'
import { readWebhook, signTestWebhook } from './webhooks.ts'

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const OTHER = 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'
const BODY = JSON.stringify({ type: 'key.revoked', id: 'evt_1', data: { reason: 'verloren – 💥' } })
const bytesOf = (secret: string) => Buffer.from(secret.slice('whsec_'.length), 'base64')

test('a message of the service is read, as text or bytes, with headers of any kind, also while the secret is rotated', async () => {
  const headers = signedHeaders([bytesOf(SECRET)], 'evt_1', new Date(), BODY)
  const capital = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]))
  for (const body of [BODY, Buffer.from(BODY), new TextEncoder().encode(BODY), new TextEncoder().encode(BODY).buffer])
    for (const given of [headers, new Headers(headers), capital])
      expect(await readWebhook(body, given, SECRET)).toEqual(JSON.parse(BODY))
  const both = signedHeaders([bytesOf(OTHER), bytesOf(SECRET)], 'evt_1', new Date(), BODY)
  expect(await readWebhook(BODY, both, SECRET)).toEqual(JSON.parse(BODY))
  expect(await readWebhook(BODY, headers, [OTHER, SECRET])).toEqual(JSON.parse(BODY))
  const event = await readWebhook(BODY, headers, SECRET)
  if (event.type === 'key.revoked') expect(event.data.reason?.slice(0, 8)).toBe('verloren')
})

test('what was changed, is old, is signed by others or not at all is refused', async () => {
  const at = new Date()
  const good = signedHeaders([bytesOf(SECRET)], 'evt_1', at, BODY)
  const ago = (seconds: number) =>
    signedHeaders([bytesOf(SECRET)], 'evt_1', new Date(at.getTime() - seconds * 1000), BODY)
  const cases: [string, Record<string, string>, string | string[]][] = [
    [`${BODY} `, good, SECRET],
    [BODY, good, OTHER],
    [BODY, good, []],
    [BODY, { ...good, 'webhook-id': 'evt_2' }, SECRET],
    [BODY, { ...good, 'webhook-timestamp': String(Number(good['webhook-timestamp']) + 1) }, SECRET],
    [BODY, { ...good, 'webhook-signature': (good['webhook-signature'] as string).replace('v1,', 'v2,') }, SECRET],
    [BODY, { ...good, 'webhook-signature': 'v1,%%%' }, SECRET],
    [BODY, {}, SECRET],
    [BODY, ago(301), SECRET],
    [BODY, ago(-301), SECRET],
    [BODY, { ...good, 'webhook-timestamp': 'NaN' }, SECRET],
  ]
  for (const [body, headers, secret] of cases) {
    const error = await readWebhook(body, headers, secret, { at }).catch((reason) => reason)
    expect(isStorekeeperError(error, 'invalid_webhook'), JSON.stringify(headers)).toBe(true)
  }
  expect(await readWebhook(BODY, ago(301), SECRET, { at, toleranceSeconds: 400 })).toEqual(JSON.parse(BODY))
  // A setting that is missing becomes NaN: it does not switch the check off.
  for (const options of [{ at, toleranceSeconds: Number.NaN }, { at: new Date(Number.NaN) }])
    await expect(readWebhook(BODY, ago(301), SECRET, options)).rejects.toThrow(TypeError)
})

test('a body that was parsed is refused with the remedy, and so is what cannot be a secret', async () => {
  const headers = signedHeaders([bytesOf(SECRET)], 'evt_1', new Date(), BODY)
  await expect(readWebhook(JSON.parse(BODY), headers, SECRET)).rejects.toThrow(/express\.raw/)
  await expect(readWebhook(BODY, headers, 'whsec_')).rejects.toThrow(TypeError)
  await expect(readWebhook(BODY, headers, '§')).rejects.toThrow(TypeError)
})

test('a message signed for a test is one that others accept', async () => {
  const headers = await signTestWebhook(BODY, SECRET, { id: 'evt_1' })
  expect(new Webhook(SECRET).verify(BODY, headers)).toEqual(JSON.parse(BODY))
  expect(await readWebhook(BODY, headers, SECRET)).toEqual(JSON.parse(BODY))
  const at = new Date(1614265330 * 1000)
  expect(
    await signTestWebhook('{"test": 2432232314}', SECRET, { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', at }),
  ).toMatchObject({
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  })
})
