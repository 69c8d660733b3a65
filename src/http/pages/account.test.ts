// The scripts of the account pages, run against the service in a document that is only as real as they need.

import vm from 'node:vm'
import { expect, test } from 'vitest'
import { newAuthenticator } from '../../../tests/authenticator.ts'
import { type Shop, shop } from '../../../tests/shop.ts'
import { issueUserToken } from '../../auth/user-tokens.ts'
import { MINUTE, travel } from '../../core/clock.ts'

class FakeElement {
  hidden: boolean
  textContent = ''
  disabled = false
  autocomplete = ''
  focused = 0
  checked = false
  value = ''
  readonly listeners = new Map<string, (event: object) => unknown>()
  readonly tagName: string
  readonly inner: FakeElement[]

  constructor(tagName: string, hidden: boolean, inner: FakeElement[] = []) {
    this.tagName = tagName
    this.hidden = hidden
    this.inner = inner
  }
  focus() {
    this.focused += 1
  }
  addEventListener(name: string, listener: (event: object) => unknown) {
    this.listeners.set(name, listener)
  }
  querySelector() {
    return this.inner[0] ?? new FakeElement('BUTTON', false)
  }
}

/** Opens a page with what stands behind its `#`, as a browser that keeps the session cookie. */
async function open({ api }: Shop, name: string, hash = '', kept = new Map<string, string>()) {
  const [page, script] = [await api.get(`/${name}`), await api.get(`/scripts/${name}.js`)]
  const elements = new Map(
    [...page.text.matchAll(/<(\w+) [^>]*?id="([\w-]+)"[^>]*>/g)].map(([tag, kind, id]) => [
      id as string,
      new FakeElement((kind as string).toUpperCase(), / hidden/.test(tag)),
    ]),
  )
  const radios = ['sign-in', 'sign-up'].map((value) => Object.assign(new FakeElement('INPUT', false), { value }))
  let cookie = ''
  let pending: Promise<unknown> = Promise.resolve()
  let url = `/${name}${hash}`
  const fetchApi = async (path: string, init: { method: string; headers: object; body?: string }) => {
    const headers = { ...init.headers, ...(cookie === '' ? {} : { cookie }) } as Record<string, string>
    const reply = await api.ask(init.method, path, undefined, { headers, ...(init.body ? { raw: init.body } : {}) })
    cookie = /^[^;]+/.exec(reply.headers.get('set-cookie') ?? '')?.[0] ?? cookie
    return { ok: reply.status < 300, text: async () => reply.text }
  }
  let fields: Record<string, string> = {}
  vm.runInNewContext(script.text, {
    document: {
      getElementById: (id: string) => elements.get(id) ?? null,
      querySelectorAll: () => radios,
      querySelector: () => radios.find(({ checked }) => checked) ?? radios[0],
    },
    location: { hash, pathname: `/${name}` },
    history: { replaceState: (_: null, __: string, path: string) => void (url = path) },
    sessionStorage: {
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (key: string, value: string) => void kept.set(key, value),
      removeItem: (key: string) => void kept.delete(key),
    },
    URLSearchParams,
    FormData: class {
      *[Symbol.iterator]() {
        yield* Object.entries(fields)
      }
    },
    fetch: (path: string, init: { method: string; headers: object; body?: string }) => {
      const reply = fetchApi(path, init)
      pending = reply
      return reply
    },
  })
  const settle = async () => {
    for (let last: unknown = null; last !== pending; ) {
      last = pending
      await pending
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  await settle()
  return {
    url: () => url,
    message: () => elements.get('message')?.textContent,
    visible: () => [...elements].filter(([, { hidden, tagName }]) => !hidden && tagName === 'FORM').map(([id]) => id),
    click: (id: string) => void elements.get(id)?.listeners.get('click')?.({}),
    choose: (value: string) => {
      for (const radio of radios) radio.checked = radio.value === value
      radios[0]?.listeners.get('change')?.({})
    },
    submit: async (id: string, given: Record<string, string> = {}) => {
      fields = given
      await elements.get(id)?.listeners.get('submit')?.({ preventDefault() {} })
      await settle()
    },
  }
}

const NEW_PASSWORD = 'seven bicycles under one umbrella'

test('/reset sets a new password, tells faults in words, and takes the token out of the address', async () => {
  const world = await shop()
  const { owner, service } = world
  const { token } = await issueUserToken(service.db, 'skp', 'reset', { user_id: owner.id, email: null })
  const page = await open(world, 'reset', `#token=${token.reveal()}`)
  expect([page.url(), page.visible()]).toEqual(['/reset', ['set']])
  await page.submit('set', { password: 'passwordpassword' })
  expect(page.message()).toMatch(/^This password is among the first/)
  await page.submit('set', { password: NEW_PASSWORD })
  expect([page.message(), page.visible()]).toEqual([expect.stringMatching(/^Your password was changed/), []])
  const again = await open(world, 'reset', `#token=${token.reveal()}`)
  await again.submit('set', { password: NEW_PASSWORD })
  expect(again.message()).toMatch(/^This link no longer works/)

  const door = await open(world, 'sign-in')
  expect(door.visible()).toEqual(['enter'])
  await door.submit('enter', { email: owner.email, password: owner.password })
  expect(door.message()).toBe('The e-mail address or the password is wrong.')
  await door.submit('enter', { email: owner.email, password: NEW_PASSWORD })
  expect([door.message(), door.visible()]).toEqual([`You are signed in as ${owner.email}.`, ['leave']])
  await door.submit('leave')
  expect([door.message(), door.visible()]).toEqual(['You are signed out.', ['enter']])
})

test('/confirm confirms by a click, and only once', async () => {
  const world = await shop()
  const { owner, service } = world
  const owned = { user_id: owner.id, email: owner.email }
  const { token } = await issueUserToken(service.db, 'skp', 'confirm', owned)
  const page = await open(world, 'confirm', `#token=${token.reveal()}`)
  expect(page.message()).toBe('')
  await page.submit('confirm')
  expect(page.message()).toBe('Your e-mail address is confirmed.')
  const again = await open(world, 'confirm', `#token=${token.reveal()}`)
  await again.submit('confirm')
  expect(again.message()).toMatch(/^This link no longer works/)
  expect((await open(world, 'confirm')).message()).toMatch(/^This link is incomplete/)
})

test('/confirm asks for a sign-in where the link gives the account another e-mail', async () => {
  const world = await shop()
  const { api, owner, service } = world
  const email = `new.${owner.email}`
  const { token } = await issueUserToken(service.db, 'skp', 'confirm', { user_id: owner.id, email })
  const page = await open(world, 'confirm', `#token=${token.reveal()}`)
  await page.submit('confirm')
  expect([page.message(), page.visible()]).toEqual([expect.stringMatching(/^Sign in to the account/), ['enter']])
  await page.submit('enter', { email: owner.email, password: owner.password })
  expect([page.message(), page.visible()]).toEqual(['Your e-mail address is confirmed.', []])
  expect((await api.get('/v1/user', { as: owner.token })).body.user.email).toBe(email)
})

test('/invitation takes in somebody new and somebody with an account', async () => {
  const world = await shop()
  const { api, owner, store, person } = world
  const invite = async (email: string) => {
    const path = `/v1/user/store/${store.id}/invitations`
    return `#token=${(await api.post(path, { email, role: 'STAFF' }, { as: owner.token })).body.token}`
  }
  const email = `new.${owner.email}`
  const page = await open(world, 'invitation', await invite(email))
  expect(page.visible()).toEqual(['enter'])
  page.choose('sign-up')
  await page.submit('enter', { email, password: NEW_PASSWORD, name: 'Ada' })
  expect([page.message(), page.visible()]).toEqual(['You are now a member of the store "The shop".', []])

  const [ada, other] = [await person(), await person()]
  const wrong = await open(world, 'invitation', await invite(ada.email))
  await wrong.submit('enter', { ...other, name: '' })
  expect([wrong.message(), wrong.visible()]).toEqual([
    'This invitation is for a different e-mail address. Sign in with the address it was sent to.',
    ['accept', 'leave'],
  ])
  await wrong.submit('leave')
  await wrong.submit('enter', { ...ada, name: '' })
  expect(wrong.message()).toBe('You are now a member of the store "The shop".')

  // The token waits in the tab while the browser is at the identity provider.
  const tab = new Map<string, string>()
  const grace = await person()
  const left = await open(world, 'invitation', await invite(grace.email), tab)
  expect([left.url(), tab.size]).toEqual(['/invitation', 0])
  left.click('sso')
  const back = await open(world, 'invitation', '', tab)
  expect([back.message(), tab.size]).toEqual(['', 0])
  await back.submit('enter', { ...grace, name: '' })
  expect(back.message()).toBe('You are now a member of the store "The shop".')
})

test('/sign-in and /invitation ask for the second factor', async () => {
  const world = await shop()
  const { api, owner, store, person } = world
  const ada = await person()
  const options = (await api.post('/v1/user/passkeys/options', undefined, { as: ada.token })).body
  const passkey = { name: 'Phone', credential: newAuthenticator().register(options) }
  const { recoveryCodes } = (await api.post('/v1/user/passkeys', passkey, { as: ada.token })).body
  const door = await open(world, 'sign-in')
  await door.submit('enter', ada)
  // This browser knows no passkeys, so it offers none.
  expect([door.message(), door.visible()]).toEqual(['', ['code-form']])
  await door.submit('code-form', { code: '123456' })
  expect([door.message(), door.visible()]).toEqual([expect.stringMatching(/^This code is wrong/), ['code-form']])
  await door.submit('code-form', { code: recoveryCodes[0] })
  expect([door.message(), door.visible()]).toEqual([`You are signed in as ${ada.email}.`, ['leave']])

  const late = await open(world, 'sign-in')
  await late.submit('enter', ada)
  travel(6 * MINUTE)
  await late.submit('code-form', { code: recoveryCodes[1] })
  expect([late.message(), late.visible()]).toEqual(['Signing in took too long. Start again.', ['enter']])
  travel(0)

  const path = `/v1/user/store/${store.id}/invitations`
  const invited = await api.post(path, { email: ada.email, role: 'STAFF' }, { as: owner.token })
  const page = await open(world, 'invitation', `#token=${invited.body.token}`)
  await page.submit('enter', { ...ada, name: '' })
  expect(page.visible()).toEqual(['code-form'])
  await page.submit('code-form', { code: recoveryCodes[1] })
  expect([page.message(), page.visible()]).toEqual(['You are now a member of the store "The shop".', []])
})
