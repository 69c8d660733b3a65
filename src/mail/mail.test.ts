import { expect, test, vi } from 'vitest'
import { mailServer } from '../../tests/mail-server.ts'
import { shop } from '../../tests/shop.ts'
import { type ConfigError, readConfig } from '../config.ts'

const NEW_PASSWORD = 'seven bicycles under one umbrella'
const FAST = { timings: { mailer: { idleMs: 50, backoffMs: [50] } } }

test('mail needs its three settings together, and says which is missing', () => {
  const faultsOf = (env: Record<string, string>) => {
    try {
      readConfig(env)
      return []
    } catch (error) {
      return (error as ConfigError).faults
    }
  }
  const [SMTP_URL, MAIL_FROM, PUBLIC_URL] = [
    'smtp://u:p@mail.example:587',
    'Us <us@shop.example>',
    'https://keys.example',
  ]
  expect(faultsOf({ SMTP_URL, MAIL_FROM, PUBLIC_URL })).toEqual([])
  expect(faultsOf({ PUBLIC_URL })).toEqual([])
  expect(faultsOf({ SMTP_URL })).toEqual([
    expect.stringMatching(/^MAIL_FROM is missing/),
    expect.stringMatching(/^PUBLIC_URL is missing/),
  ])
  expect(faultsOf({ MAIL_FROM })).toEqual([expect.stringMatching(/^SMTP_URL is missing/)])
  const wrong = faultsOf({ SMTP_URL: 'https://u:hidden@x', MAIL_FROM: 'Us', PUBLIC_URL: 'https://keys.example/path' })
  expect(wrong.map((fault) => fault.split(' ')[0])).toEqual(
    expect.arrayContaining(['SMTP_URL', 'MAIL_FROM', 'PUBLIC_URL']),
  )
  expect(wrong.join()).not.toContain('hidden')
})

test('a link for a new password is mailed to the one who has the account, and to nobody else', async () => {
  const mail = await mailServer()
  const { api, owner, sql, logs } = await shop(mail.settings, FAST)
  for (const email of ['nobody@example.com', owner.email.toUpperCase()])
    expect((await api.post('/v1/auth/reset', { email })).status).toBe(202)
  const letter = await mail.mailTo(owner.email)
  expect(letter.headers).toMatch(/^From: The shop <no-reply@shop\.example>$/m)
  expect(letter.headers).toMatch(/^Auto-Submitted: auto-generated$/im)
  expect(letter.subject).toBe('Set a new password')
  expect(letter.text).toContain('https://keys.example/reset#token=skp_reset_')
  await vi.waitFor(async () => expect(await sql('select * from mails')).toEqual([]))

  const reset = { token: letter.token, newPassword: NEW_PASSWORD }
  expect((await api.post('/v1/auth/reset/confirm', reset)).status).toBe(204)
  const told = await mail.mailTo(owner.email, 2)
  expect([told.subject, told.token]).toEqual(['Your password was changed', null])
  expect(told.text).toContain('127.0.0.1')
  expect(mail.mails.map(({ to }) => to)).toEqual([owner.email, owner.email])
  expect((await api.post('/v1/auth/sign-in', { email: owner.email, password: NEW_PASSWORD })).status).toBe(200)
  for (const secret of [letter.token as string, owner.email]) expect(logs()).not.toContain(secret)
})

test('a mail that the server does not take is tried again with the same link; one refused for good is given up', async () => {
  const mail = await mailServer()
  const { api, owner, person, sql, logs } = await shop(mail.settings, FAST)
  mail.refuse('451 later')
  await api.post('/v1/auth/reset', { email: owner.email })
  await vi.waitFor(() => expect(mail.refused()).toBeGreaterThan(1))
  const [queued] = await sql("select encode(token, 'escape') as token, token_kid, recipient from mails")
  expect(queued).toEqual({
    token: expect.not.stringContaining('reset'),
    token_kid: expect.any(String),
    recipient: owner.email,
  })
  const [kept] = await sql("select encode(hash, 'hex') as hash from user_tokens")
  mail.refuse(null)
  await mail.mailTo(owner.email)
  expect(await sql("select encode(hash, 'hex') as hash from user_tokens")).toEqual([kept])

  mail.refuse('550 no such user')
  const [before, ada] = [mail.refused(), await person()]
  await api.post('/v1/auth/reset', { email: ada.email })
  await vi.waitFor(async () => expect(await sql('select * from mails')).toEqual([]))
  expect(mail.refused()).toBe(before + 1)
  expect(logs()).toContain('"work":"mail"')
  expect(logs()).not.toContain(ada.email)
})

test('two nodes send a mail once', async () => {
  const mail = await mailServer()
  const { api, node, person, sql } = await shop(mail.settings, FAST)
  const other = await node()
  const people = await Promise.all(Array.from({ length: 4 }, () => person()))
  await Promise.all(people.map(({ email }, i) => (i % 2 ? api : other).post('/v1/auth/reset', { email })))
  await Promise.all(people.map(({ email }) => mail.mailTo(email)))
  await vi.waitFor(async () => expect(await sql('select * from mails')).toEqual([]))
  expect(mail.mails).toHaveLength(people.length)
})
