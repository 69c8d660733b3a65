import { expect, test } from 'vitest'
import { mailServer } from '../../tests/mail-server.ts'
import { NEW_KEY, shop } from '../../tests/shop.ts'

const PASSWORD = 'seven bicycles under one umbrella'
const FAST = { timings: { mailer: { idleMs: 50, backoffMs: [50] } } }

test('an account causes so many mails to strangers in a day, a mailbox gets so many invitations, and no more', async () => {
  const mail = await mailServer()
  const { api, owner, store, person, sql } = await shop(mail.settings, FAST)
  const invite = async (as: string, storeId: string, email: string) => {
    const path = `/v1/user/store/${storeId}/invitations`
    const { status, body } = await api.post(path, { email, role: 'CUSTOMER' }, { as })
    expect(status).toBe(201)
    return body.mailed as boolean
  }
  // Nobody knows whose mail an account without a confirmed e-mail would be.
  expect(await invite(owner.token, store.id, 'bob@example.com')).toBe(false)
  const ada = await person()
  await sql('update users set email_verified_at = now()')

  // Five to one mailbox, however it is written, from however many stores at once.
  const stores = await Promise.all(
    Array.from({ length: 6 }, async (_, n) => {
      const made = await api.post('/v1/user/store', { name: `Store ${n}` }, { as: ada.token })
      return made.body.id as string
    }),
  )
  const sent = await Promise.all(stores.map((id, n) => invite(ada.token, id, `bob+${n}@example.com`)))
  expect(sent.filter(Boolean)).toHaveLength(5)

  // Twenty by one account: invitations and changes of the e-mail together.
  let mailed = 0
  for (let n = 0; n < 20; n++) mailed += (await invite(owner.token, store.id, `guest${n}@example.com`)) ? 1 : 0
  expect(mailed).toBe(20)
  expect(await invite(owner.token, store.id, 'one-more@example.com')).toBe(false)
  const change = { email: 'stranger@example.com', currentPassword: owner.password }
  const refused = await api.patch('/v1/user', change, { as: owner.token })
  expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited'])
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(23 * 60 * 60)
  await sql(`update sign_in_failures set at = at - interval '1 day'`)
  expect((await api.patch('/v1/user', change, { as: owner.token })).status).toBe(200)
})

test('the keys of all its stores together cause no more mails than the account itself may', async () => {
  const mail = await mailServer()
  const { api, owner, store, member, sql } = await shop(mail.settings, FAST)
  const other = await member('OWNER')
  let guests = 0
  const invite = async (as: string, storeId: string, count: number) => {
    let mailed = 0
    for (let n = 0; n < count; n++) {
      const guest = { email: `guest${guests++}@example.com`, role: 'CUSTOMER' }
      const { status, body } = await api.post(`/v1/user/store/${storeId}/invitations`, guest, { as })
      expect(status).toBe(201)
      mailed += body.mailed ? 1 : 0
    }
    return mailed
  }
  const robotOf = async (storeId: string) => {
    const key = { ...NEW_KEY, permissions: ['READ', 'WRITE', 'MANAGE_MEMBERS'] }
    return (await api.post(`/v1/user/store/${storeId}/keys`, key, { as: owner.token })).body.key as string
  }
  const robot = await robotOf(store.id)
  await sql('update users set email_verified_at = null')
  expect(await invite(robot, store.id, 1)).toBe(0)
  await sql('update users set email_verified_at = now() where id = $1', [owner.id])
  await sql('delete from sign_in_failures')

  // Five by the person, and fifteen by the keys of their stores.
  expect(await invite(owner.token, store.id, 5)).toBe(5)
  expect(await invite(robot, store.id, 10)).toBe(10)
  const ids: string[] = []
  for (const name of ['Second', 'Third'])
    ids.push((await api.post('/v1/user/store', { name }, { as: owner.token })).body.id)
  const mailed = await Promise.all(ids.map(async (id) => invite(await robotOf(id), id, 4)))
  expect(mailed.reduce((sum, count) => sum + count)).toBe(5)
  expect(await invite(owner.token, store.id, 1)).toBe(0)

  // Another owner, who may not have asked to be one, has mails of their own, of which the key takes none.
  await sql('update users set email_verified_at = now() where id = $1', [other.id])
  expect(await invite(robot, store.id, 2)).toBe(0)
  expect(await invite(other.token, store.id, 12)).toBe(12)
})

test('mail to an address that others have asked for does not keep its owner from signing up', async () => {
  const mail = await mailServer()
  const { api, owner, sql } = await shop({ ...mail.settings, TRUST_PROXY: '1' }, FAST)
  const from = (ip: string) => ({ headers: { 'x-forwarded-for': ip } })
  const signUp = (email: string, ip: string) => api.post('/v1/auth/sign-up', { email, password: PASSWORD }, from(ip))
  for (let n = 0; n < 10; n++) expect((await signUp(`bob+${n}@example.com`, `192.0.2.${n}`)).status).toBe(201)
  const made = await signUp('bob@example.com', '198.51.100.1')
  expect([made.status, made.body.user.email]).toEqual([201, 'bob@example.com'])
  await expect.poll(() => sql('select * from mails')).toEqual([])
  expect(mail.mails.map(({ to }) => to)).not.toContain('bob@example.com')
  expect(mail.mails).toHaveLength(10)

  // Fifty links in a day for a network that asks without being signed in. The answer is the same for the next.
  for (let n = 0; n < 52; n++) {
    if (n % 10 === 0) await sql(`update sign_in_failures set at = at - interval '16 minutes'`)
    const { status } = await api.post('/v1/auth/reset', { email: owner.email }, from(`2001:db8::${n + 1}`))
    expect(status).toBe(202)
  }
  await expect.poll(() => sql('select * from mails')).toEqual([])
  expect(mail.mails.filter(({ to }) => to === owner.email)).toHaveLength(50)
})
