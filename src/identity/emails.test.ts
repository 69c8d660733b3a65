import { expect, test } from 'vitest'
import { fromBase32, newAuthenticator } from '../../tests/authenticator.ts'
import { call } from '../../tests/command.ts'
import { type MailServer, mailServer } from '../../tests/mail-server.ts'
import { type Shop, shop } from '../../tests/shop.ts'
import { run } from '../cli/run.ts'
import { nowMs } from '../core/clock.ts'
import { totpCode, totpStep } from '../crypto/totp.ts'

const PASSWORD = 'seven bicycles under one umbrella'
const FAST = { timings: { mailer: { idleMs: 50, backoffMs: [50] } } }

function operate({ databaseUrl, serverSecret }: Shop, argv: string[]) {
  return call(run, ['user', ...argv], { env: { DATABASE_URL: databaseUrl, SERVER_SECRET: serverSecret } })
}

async function signUp({ api }: Shop, email: string) {
  const { status, body } = await api.post('/v1/auth/sign-up', { email, password: PASSWORD })
  expect(status).toBe(201)
  return { id: body.user.id as string, email, as: body.token as string }
}

const signIn = async ({ api }: Shop, email: string) =>
  (await api.post('/v1/auth/sign-in', { email, password: PASSWORD })).body.token as string

/** Somebody who has confirmed their e-mail. */
async function confirmed(world: Shop, mail: MailServer, email: string) {
  const user = await signUp(world, email)
  const { token } = await mail.mailTo(email)
  expect((await world.api.post('/v1/auth/confirm', { token })).status).toBe(204)
  return user
}

const confirm = ({ api }: Shop, token: string | null, as?: string) =>
  api.post('/v1/auth/confirm', { token }, as ? { as } : {})

async function addPasskey({ api }: Shop, as: string): Promise<string> {
  const { body: options } = await api.post('/v1/user/passkeys/options', undefined, { as })
  const credential = newAuthenticator('https://keys.example').register(options)
  const { status, body } = await api.post('/v1/user/passkeys', { name: 'Phone', credential }, { as })
  expect(status).toBe(201)
  return body.id
}

test('whatever shuts a thief out of an account also ends the change of its e-mail', async () => {
  const mail = await mailServer()
  const world = await shop(mail.settings, FAST)
  const { api } = world
  const ada = await confirmed(world, mail, 'ada@example.com')
  let n = 0
  const theft = async () => {
    const thief = await signIn(world, ada.email)
    const email = `thief${++n}@example.com`
    const asked = await api.patch('/v1/user', { email, currentPassword: PASSWORD }, { as: thief })
    expect([asked.status, asked.body.pendingEmail]).toEqual([200, email])
    return { thief, token: (await mail.mailTo(email)).token }
  }
  const isOver = async (token: string | null) => {
    const { body } = await confirm(world, token, ada.as)
    expect(body.code).toBe('confirmation_not_found')
    expect((await api.get('/v1/user', { as: ada.as })).body.user).toMatchObject({
      email: ada.email,
      pendingEmail: null,
    })
  }

  const first = await theft()
  await api.delete('/v1/user/sessions', { as: ada.as })
  await isOver(first.token)

  const second = await theft()
  const { data: sessions } = (await api.get('/v1/user/sessions', { as: ada.as })).body
  const other = sessions.find(({ current }: { current: boolean }) => !current)
  expect((await api.delete(`/v1/user/sessions/${other.id}`, { as: ada.as })).status).toBe(204)
  await isOver(second.token)

  const third = await theft()
  const passkey = await addPasskey(world, ada.as)
  await isOver(third.token)

  // With the second factor a thief can no longer sign in, but an open session might be stolen.
  const change = async (email: string) => {
    await api.patch('/v1/user', { email, currentPassword: PASSWORD }, { as: ada.as })
    return (await mail.mailTo(email)).token
  }
  const fourth = await change('fourth@example.com')
  expect((await api.delete(`/v1/user/passkeys/${passkey}`, { as: ada.as })).status).toBe(204)
  await isOver(fourth)

  await addPasskey(world, ada.as)
  const fifth = await change('fifth@example.com')
  expect((await operate(world, ['reset-second-factor', ada.email])).code).toBe(0)
  expect((await confirm(world, fifth)).body.code).toBe('confirmation_not_found')
})

test('nothing is confirmed for a disabled account, and its new e-mail is forgotten', async () => {
  const mail = await mailServer()
  const world = await shop(mail.settings, FAST)
  const { api, sql } = world
  const ada = await confirmed(world, mail, 'ada@example.com')
  const bob = await signUp(world, 'bob@example.com')
  await api.patch('/v1/user', { email: 'evil@example.com', currentPassword: PASSWORD }, { as: ada.as })
  const tokens = [(await mail.mailTo('evil@example.com')).token, (await mail.mailTo(bob.email)).token]
  for (const { email } of [ada, bob]) expect((await operate(world, ['disable', email])).code).toBe(0)
  for (const token of tokens) {
    const { status, body } = await confirm(world, token)
    expect([status, body.code]).toEqual([404, 'confirmation_not_found'])
  }
  for (const { email } of [ada, bob]) expect((await operate(world, ['enable', email])).code).toBe(0)
  expect((await confirm(world, tokens[0] as string)).status).toBe(404)
  // The first confirmation of an account's own e-mail goes on once it is enabled.
  expect((await confirm(world, tokens[1] as string)).status).toBe(204)
  expect(await sql(`select email from users where id = $1`, [ada.id])).toEqual([{ email: ada.email }])
})

test('an e-mail moves only to an account whose owner is signed in to it', async () => {
  const mail = await mailServer()
  const world = await shop(mail.settings, FAST)
  const { api } = world
  const email = 'ada@example.com'
  const ada = await signUp(world, email)
  const first = await mail.mailTo(email)
  const squatter = await signUp(world, email)
  const second = await mail.mailTo(email, 2)
  expect(second.text).toMatch(/entered on .* UTC from the IP address 127\.0\.0\.1, for the account created on .* UTC\./)
  const mallory = await confirmed(world, mail, 'mallory@example.com')
  await api.patch('/v1/user', { email, currentPassword: PASSWORD }, { as: mallory.as })
  const third = await mail.mailTo(email, 3)

  // Ada, who reads the mailbox, opens the links of the others: by mistake, signed in or not.
  for (const { token } of [second, third])
    for (const as of [undefined, ada.as, 'nonsense']) {
      const { status, body } = await confirm(world, token, as)
      expect([status, body.code]).toEqual([403, 'sign_in_required'])
    }
  // Where others want the e-mail too, her own link needs her session as well.
  expect((await confirm(world, first.token, squatter.as)).body.code).toBe('sign_in_required')
  expect((await confirm(world, first.token)).body.code).toBe('sign_in_required')
  expect((await confirm(world, first.token, ada.as)).status).toBe(204)
  const { user } = (await api.get('/v1/user', { as: ada.as })).body
  expect(user).toMatchObject({ id: ada.id, email, emailVerified: true })
  for (const { token } of [second, third])
    expect((await confirm(world, token, squatter.as)).body.code).toBe('email_taken')

  // A change of one's own e-mail needs the session too, and not one that has ended.
  await api.patch('/v1/user', { email: 'new@example.com', currentPassword: PASSWORD }, { as: ada.as })
  const change = await mail.mailTo('new@example.com')
  expect((await confirm(world, change.token)).body.code).toBe('sign_in_required')
  const other = await signIn(world, email)
  await api.post('/v1/auth/sign-out', undefined, { as: other })
  expect((await confirm(world, change.token, other)).body.code).toBe('sign_in_required')
  expect((await confirm(world, change.token, ada.as)).status).toBe(204)
})

test('a link that is opened by somebody signed in to another account confirms nothing, and still works', async () => {
  const mail = await mailServer()
  const world = await shop(mail.settings, FAST)
  const stranger = await signUp(world, 'ada@example.com')
  const { token } = await mail.mailTo(stranger.email)
  expect((await confirm(world, token, world.owner.token)).body.code).toBe('sign_in_required')
  const verified = () => world.sql('select email_verified_at from users where id = $1', [stranger.id])
  expect(await verified()).toEqual([{ email_verified_at: null }])
  expect((await confirm(world, token, stranger.as)).status).toBe(204)
  expect(await verified()).toEqual([{ email_verified_at: expect.any(Date) }])
})

test('a reset that confirms an e-mail for the first time removes the second factor, and no other does', async () => {
  const mail = await mailServer()
  const world = await shop(mail.settings, FAST)
  const { api, sql } = world
  const email = 'ada@example.com'
  const squatter = await signUp(world, email)
  await mail.mailTo(email)
  await addPasskey(world, squatter.as)
  const reset = async (count: number) => {
    await api.post('/v1/auth/reset', { email })
    const { token } = await mail.mailTo(email, count)
    expect((await api.post('/v1/auth/reset/confirm', { token, newPassword: PASSWORD })).status).toBe(204)
  }
  await reset(2)
  const opened = await api.post('/v1/auth/sign-in', { email, password: PASSWORD })
  expect([opened.status, opened.body.user]).toMatchObject([200, { emailVerified: true, secondFactor: { passkeys: 0 } }])
  expect(await sql('select id from passkeys')).toEqual([])
  const events = `select actor->>'id' as by from events where type = 'user.second_factor_reset'`
  expect(await sql(events)).toEqual([{ by: squatter.id }])
  await mail.mailTo(email, 4)
  expect(mail.mails.map(({ subject }) => subject)).toContain('Your second factor')

  await addPasskey(world, opened.body.token)
  await mail.mailTo(email, 5)
  await reset(6)
  const signInCode = async () => (await api.post('/v1/auth/sign-in', { email, password: PASSWORD })).body.code
  expect(await signInCode()).toBe('second_factor_required')
  expect(await sql(events)).toHaveLength(1)

  // An account that the operator has unlinked confirms its e-mail again, which is not the first time.
  await mail.mailTo(email, 7)
  await sql(`update users set issuer = 'https://id.example.com', subject = 'ada' where email = $1`, [email])
  const env = { DATABASE_URL: world.databaseUrl, SERVER_SECRET: world.serverSecret }
  expect((await call(run, ['user', 'unlink', email], { env })).code).toBe(0)
  await reset(8)
  expect(await signInCode()).toBe('second_factor_required')
  expect(await sql(events)).toHaveLength(1)
  expect(await sql('select confirm_again_since from users where email = $1', [email])).toEqual([
    { confirm_again_since: null },
  ])
})

test('a link that nobody signed in to the account has opened is no reason to keep its second factor at a reset', async () => {
  const mail = await mailServer()
  const world = await shop(mail.settings, FAST)
  const { api } = world
  const passkeysAfterReset = async (email: string, mails: number) => {
    await api.post('/v1/auth/reset', { email })
    const { token } = await mail.mailTo(email, mails)
    expect((await api.post('/v1/auth/reset/confirm', { token, newPassword: PASSWORD })).status).toBe(204)
    const rows = await world.sql(
      'select passkeys.id from passkeys join users on users.id = user_id where users.email = $1',
      [email],
    )
    return rows.length
  }
  const squatter = await confirmed(world, mail, 'ada@example.com')
  await addPasskey(world, squatter.as)
  await mail.mailTo(squatter.email, 2)
  expect(await passkeysAfterReset(squatter.email, 3)).toBe(0)

  // Whoever has confirmed it elsewhere asks for another link, and opens that one signed in.
  const grace = await confirmed(world, mail, 'grace@example.com')
  await addPasskey(world, grace.as)
  await mail.mailTo(grace.email, 2)
  await api.patch('/v1/user', { email: grace.email, currentPassword: PASSWORD }, { as: grace.as })
  const { token } = await mail.mailTo(grace.email, 3)
  expect((await confirm(world, token, grace.as)).status).toBe(204)
  // From now on there is nothing to confirm.
  await api.patch('/v1/user', { email: grace.email, currentPassword: PASSWORD }, { as: grace.as })
  expect(await passkeysAfterReset(grace.email, 4)).toBe(1)
})

test('an account that has a password but no e-mail accepts no invitation', async () => {
  const mail = await mailServer()
  const world = await shop(mail.settings, FAST)
  const { api, owner, store } = world
  const email = 'ada@example.com'
  await signUp(world, email)
  const second = await signUp(world, email)
  for (const invited of ['bob@example.com', email]) {
    const path = `/v1/user/store/${store.id}/invitations`
    const { token } = (await api.post(path, { email: invited, role: 'STAFF' }, { as: owner.token })).body
    const { status, body } = await api.post('/v1/user/invitations/accept', { token }, { as: second.as })
    expect([status, body.code]).toEqual([403, 'invitation_mismatch'])
  }
})

test('a repeated request gets the secrets of a second factor again only soon after signing in', async () => {
  const world = await shop({ alone: true })
  const { api, owner, sql } = world
  const ask = (path: string, headers = { 'idempotency-key': path }) =>
    api.post(path, undefined, { as: owner.token, headers })
  const { secret } = (await ask('/v1/user/totp')).body
  const code = totpCode(fromBase32(secret), totpStep(nowMs()))
  expect((await api.post('/v1/user/totp/confirm', { code }, { as: owner.token })).status).toBe(204)
  expect((await ask('/v1/user/recovery-codes')).status).toBe(200)
  expect((await ask('/v1/user/recovery-codes')).headers.get('idempotent-replayed')).toBe('true')
  await sql(`update sessions set created_at = created_at - interval '11 minutes'`)
  for (const path of ['/v1/user/totp', '/v1/user/recovery-codes']) {
    const { status, body } = await ask(path)
    expect([status, body.code]).toEqual([403, 'recent_sign_in_required'])
  }
})
