import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { serviceClient } from '../../tests/service-client.ts'
import { NEW_KEY, type Reply, type Shop, shop, USAGE_AT_ONCE } from '../../tests/shop.ts'
import { DAY, HOUR, now, SECOND, travel } from '../core/clock.ts'
import { CHANGEABLE_COLUMNS } from './columns.ts'

const SECRET = /^skp_prod_[0-9A-Za-z]{38}$/

// ---- change ---------------------------------------------------------------------------------------------------------

describe('PATCH', () => {
  test('200: each member changes alone, and what is absent stays', async () => {
    const world = await shop()
    const made = await create(world, { metadata: { description: 'old', z: 1, a: 2 } })
    const changes = {
      name: '  Checkout and cart ',
      permissions: ['WRITE'],
      metadata: { z: { deep: [1, null] }, a: 'b' },
      enabled: false,
      expiresAt: new Date(Date.now() + 90 * DAY).toISOString(),
      ipAllowlist: ['10.1.2.3/8', '2001:DB8::1'],
      rateLimit: { limit: 5, windowSeconds: 60 },
    }
    const shown: Record<string, unknown> = {
      ...changes,
      name: 'Checkout and cart',
      ipAllowlist: ['10.0.0.0/8', '2001:db8::1/128'],
    }
    let { body: before } = await read(world, made.id)
    let revision = 1
    for (const [member, value] of Object.entries(changes)) {
      const changed = await change(world, made.id, { [member]: value })
      revision += 1
      const expected = {
        ...before,
        [member]: shown[member],
        ...(member === 'enabled' ? { status: 'DISABLED' } : {}),
        updatedAt: changed.body.updatedAt,
      }
      expect([changed.status, changed.headers.get('etag'), changed.body]).toEqual([200, `"r${revision}"`, expected])
      expect(changed.body.updatedAt >= before.updatedAt).toBe(true)
      const again = await read(world, made.id)
      expect([again.headers.get('etag'), again.text]).toEqual([`"r${revision}"`, changed.text])
      before = again.body
    }
    for (const member of ['expiresAt', 'ipAllowlist', 'rateLimit']) {
      const changed = await change(world, made.id, { [member]: null })
      expect(changed.body).toEqual({ ...before, [member]: null, updatedAt: changed.body.updatedAt })
      before = changed.body
    }
  })

  test('200: what changes nothing writes nothing: no revision, no event, whatever the key is', async () => {
    const world = await shop()
    const made = await create(world, { metadata: { a: 1 } })
    const gone = await create(world)
    await revoke(world, gone.id)
    for (const { id } of [made, gone]) {
      const before = await read(world, id)
      const written = await eventsOf(world, id)
      const { name, permissions, metadata, enabled, expiresAt, ipAllowlist, rateLimit } = before.body
      for (const body of [{}, { name, permissions, metadata, enabled, expiresAt, ipAllowlist, rateLimit }]) {
        const changed = await change(world, id, body)
        expect([changed.status, changed.headers.get('etag'), changed.text]).toEqual([
          200,
          before.headers.get('etag'),
          before.text,
        ])
      }
      expect(await eventsOf(world, id)).toEqual(written)
    }
  })

  test('422: every fault at once, and nothing is changed', async () => {
    const world = await shop()
    const made = await create(world)
    const before = await read(world, made.id)
    const refused = await change(world, made.id, {
      name: ' ',
      permissions: ['READ', 'NOPE'],
      metadata: { description: 5, big: 2 ** 60 },
      enabled: 'false',
      expiresAt: '2020-01-01T00:00:00Z',
      ipAllowlist: ['10.0.0.0/8', 'somewhere'],
      rateLimit: { limit: 0, windowSeconds: 86_401, burst: 1 },
      type: 'TEST',
      status: 'ACTIVE',
      key: 'mine',
      id: 'key_1',
    })
    expect([refused.status, refused.body.code]).toEqual([422, 'invalid_input'])
    const faults = refused.body.errors.map(
      (fault: { pointer: string; code: string }) => `${fault.pointer} ${fault.code}`,
    )
    expect(faults.sort()).toEqual([
      '#/enabled invalid_type',
      '#/expiresAt not_in_future',
      '#/id unknown_member',
      '#/ipAllowlist/1 invalid_cidr',
      '#/key unknown_member',
      '#/metadata/big unsafe_number',
      '#/metadata/description invalid_type',
      '#/name too_short',
      '#/permissions/1 unknown_permission',
      '#/rateLimit/burst unknown_member',
      '#/rateLimit/limit too_small',
      '#/rateLimit/windowSeconds too_large',
      '#/status unknown_member',
      '#/type unknown_member',
    ])
    for (const [member, value, code] of [
      ['name', null, 'invalid_type'],
      ['permissions', null, 'invalid_type'],
      ['permissions', [], 'too_short'],
      ['metadata', null, 'invalid_type'],
      ['enabled', null, 'invalid_type'],
      ['expiresAt', '2100-01-01T00:00:00Z', 'too_far'],
      ['ipAllowlist', [], 'too_short'],
      ['rateLimit', {}, 'required'],
    ] as const) {
      const { status, body } = await change(world, made.id, { [member]: value })
      expect([member, value, status, body.errors?.[0].code]).toEqual([member, value, 422, code])
    }
    expect((await change(world, made.id, undefined)).status).toBe(400)
    expect((await read(world, made.id)).text).toBe(before.text)
  })

  test('412: If-Match guards against a change in between, and of two at once one is done', async () => {
    const world = await shop()
    const other = await world.node()
    const made = await create(world)
    expect((await change(world, made.id, { name: 'One' }, { headers: { 'if-match': '"r1"' } })).status).toBe(200)
    for (const stale of ['"r1"', '"r3"', 'r2', 'W/"r2"', '""']) {
      const refused = await change(world, made.id, { name: 'Two' }, { headers: { 'if-match': stale } })
      expect([stale, refused.status, refused.body.code]).toEqual([stale, 412, 'precondition_failed'])
    }
    for (const fitting of ['*', '"r1", "r3"'])
      expect((await change(world, made.id, { name: fitting }, { headers: { 'if-match': fitting } })).status).toBe(200)
    const both = await Promise.all(
      [world.api, other].map((at) =>
        at.patch(
          `${world.keys}/${made.id}`,
          { name: `At ${at.url}` },
          { as: world.owner.token, headers: { 'if-match': '"r4"' } },
        ),
      ),
    )
    expect(both.map(({ status }) => status).sort()).toEqual([200, 412])
    expect((await read(world, made.id)).body.name).toBe(both.find(({ status }) => status === 200)?.body.name)
  })

  test('403: nobody changes or rotates a key that holds more than they do, nor gives what they do not hold', async () => {
    const world = await shop()
    const { api, keys, member, owner } = world
    const back = await serviceClient(world)
    const clerk = await member('STAFF', ['READ', 'MANAGE_KEYS'])
    const robot = await create(world, { permissions: ['READ', 'MANAGE_KEYS'] })
    const strong = await create(world, {
      permissions: ['READ', 'WRITE', 'MANAGE_ORDERS'],
      rateLimit: { limit: 9, windowSeconds: 9 },
    })
    const weak = await create(world, { permissions: ['READ'] })
    const before = await read(world, strong.id)
    for (const as of [clerk.token, robot.key]) {
      for (const body of [
        { name: 'Mine' },
        { permissions: ['READ'] },
        { enabled: false },
        { expiresAt: null, rateLimit: null },
        { rateLimit: { limit: 1_000_000, windowSeconds: 1 } },
        { expiresAt: new Date(Date.now() + DAY).toISOString() },
        { ipAllowlist: ['0.0.0.0/0'] },
        { metadata: { a: 1 } },
      ]) {
        const refused = await api.patch(`${keys}/${strong.id}`, body, { as })
        expect(refused.body).toMatchObject({
          status: 403,
          code: 'cannot_grant',
          permissions: ['WRITE', 'MANAGE_ORDERS'],
        })
      }
      for (const grace of [0, 60]) {
        const refused = await api.post(`${keys}/${strong.id}/rotate`, { gracePeriodSeconds: grace }, { as })
        expect(refused.body).toMatchObject({
          status: 403,
          code: 'cannot_grant',
          permissions: ['WRITE', 'MANAGE_ORDERS'],
        })
      }
      const given = await api.patch(`${keys}/${weak.id}`, { permissions: ['READ', 'WRITE', 'MANAGE_STORE'] }, { as })
      expect(given.body).toMatchObject({ status: 403, code: 'cannot_grant', permissions: ['WRITE', 'MANAGE_STORE'] })
      expect((await api.patch(`${keys}/${weak.id}`, { name: 'Weak' }, { as })).status).toBe(200)
    }
    expect((await read(world, strong.id)).text).toBe(before.text)
    expect((await eventsOf(world, strong.id)).map(({ type }) => type)).toEqual(['key.created'])
    expect([await back.codeOf(strong.key), await back.codeOf(weak.key, { permissions: ['WRITE'] })]).toEqual([
      'VALID',
      'INSUFFICIENT_PERMISSIONS',
    ])
    // Whoever holds it all may, and ending a key is open to everyone who manages keys.
    expect((await api.patch(`${keys}/${strong.id}`, { name: 'Theirs' }, { as: owner.token })).status).toBe(200)
    expect((await api.delete(`${keys}/${strong.id}`, { as: clerk.token })).status).toBe(200)
    expect((await api.delete(`${keys}/${weak.id}`, { as: robot.key })).status).toBe(200)
  })

  test('a key that names a permission the operator took away is still the owner’s to change and to rotate', async () => {
    const world = await shop()
    const { api, keys, member, node, owner } = world
    const generous = await node({ EXTRA_PERMISSIONS: 'MANAGE_RETURNS' })
    const { body: made } = await generous.post(
      keys,
      { ...NEW_KEY, permissions: ['READ', 'MANAGE_RETURNS'] },
      { as: owner.token },
    )
    const manager = await member('MANAGER')
    for (const [as, status] of [
      [manager.token, 403],
      [owner.token, 200],
    ] as const) {
      expect((await api.patch(`${keys}/${made.id}`, { name: `By ${status}` }, { as })).status).toBe(status)
      expect((await api.post(`${keys}/${made.id}/rotate`, {}, { as })).status).toBe(status)
    }
  })

  test('409: dead stays dead', async () => {
    const world = await shop()
    const back = await serviceClient(world)
    const revoked = await create(world)
    await revoke(world, revoked.id)
    const expired = await create(world, { expiresAt: new Date(Date.now() + HOUR).toISOString() })
    travel(HOUR + SECOND)
    for (const [dead, code] of [
      [revoked, 'key_revoked'],
      [expired, 'key_expired'],
    ] as const) {
      const before = await read(world, dead.id)
      const later = new Date(now().getTime() + DAY).toISOString()
      for (const body of [{ expiresAt: later }, { enabled: false }, { name: 'Risen' }, { permissions: ['READ'] }]) {
        const refused = await change(world, dead.id, body)
        expect([body, refused.status, refused.body.code]).toEqual([body, 409, code])
      }
      for (const grace of [0, 60])
        expect((await rotate(world, dead.id, { gracePeriodSeconds: grace })).body).toMatchObject({ status: 409, code })
      expect((await read(world, dead.id)).text).toBe(before.text)
    }
    expect([await back.codeOf(revoked.key), await back.codeOf(expired.key)]).toEqual(['REVOKED', 'EXPIRED'])
  })

  test('404: a key of another store, or of none, byte for byte the same, and the key is unchanged', async () => {
    const world = await shop()
    const { api, keys, owner, person } = world
    const stranger = await person()
    const { body: theirs } = await api.post('/v1/user/store', { name: 'Next door' }, { as: stranger.token })
    const { body: made } = await api.post(`/v1/user/store/${theirs.id}/keys`, NEW_KEY, { as: stranger.token })
    const told = ({ status, body }: Reply) => [status, { ...body, requestId: '', instance: '' }]
    const ways = [
      (id: string) => api.patch(`${keys}/${id}`, { name: 'Mine now' }, { as: owner.token }),
      (id: string) => api.post(`${keys}/${id}/rotate`, {}, { as: owner.token }),
      (id: string) => api.delete(`${keys}/${id}`, { as: owner.token }),
      (id: string) => api.get(`${keys}/${id}/usage`, { as: owner.token }),
      (id: string) => api.get(`${keys}/${id}/advice`, { as: owner.token }),
    ]
    for (const ask of ways) {
      const there = await ask(made.id)
      expect(there.body.code).toBe('key_not_found')
      for (const id of ['key_01k9wz3v5e8tvs8v4m8m3v5yqd', 'nonsense']) expect(told(await ask(id))).toEqual(told(there))
    }
    const own = await api.get(`/v1/user/store/${theirs.id}/keys/${made.id}`, { as: stranger.token })
    expect(own.body).toEqual({ ...made, key: undefined })
  })

  test('every change is told from what to what; metadata and secrets are not', async () => {
    const world = await shop()
    const made = await create(world, { metadata: { plan: 'the-old-plan' } })
    await change(world, made.id, {
      name: 'Cart',
      permissions: ['READ'],
      metadata: { plan: 'the-new-plan' },
      enabled: false,
      ipAllowlist: ['10.0.0.0/8'],
      rateLimit: { limit: 1, windowSeconds: 2 },
    })
    await change(world, made.id, { enabled: true })
    await change(world, made.id, { metadata: {} })
    const rotated = await rotate(world, made.id, { gracePeriodSeconds: 60 })
    await revoke(world, made.id, 'leaked')
    const events = await eventsOf(world, made.id)
    const subject = made.id
    const base = { subject, store_id: world.store.id }
    expect(
      events.map(({ actor, ...event }) => (expect(actor).toMatchObject({ kind: 'user', id: world.owner.id }), event)),
    ).toEqual([
      {
        ...base,
        type: 'key.created',
        data: {
          name: 'Checkout',
          type: 'PROD',
          permissions: ['READ', 'WRITE'],
          expiresAt: null,
          ipAllowlist: null,
          rateLimit: null,
          rateLimits: [],
          credits: null,
          imported: false,
        },
      },
      {
        ...base,
        type: 'key.updated',
        data: {
          from: { name: 'Checkout', permissions: ['READ', 'WRITE'], ipAllowlist: null, rateLimit: null },
          to: {
            name: 'Cart',
            permissions: ['READ'],
            ipAllowlist: ['10.0.0.0/8'],
            rateLimit: { limit: 1, windowSeconds: 2 },
          },
          metadataChanged: true,
        },
      },
      { ...base, type: 'key.disabled', data: {} },
      { ...base, type: 'key.enabled', data: {} },
      { ...base, type: 'key.updated', data: { from: {}, to: {}, metadataChanged: true } },
      {
        ...base,
        type: 'key.rotated',
        data: { gracePeriodSeconds: 60, previousExpiresAt: rotated.body.rotation.previousExpiresAt },
      },
      { ...base, type: 'key.revoked', data: { reason: 'leaked' } },
    ])
    const text = JSON.stringify(events)
    for (const unsaid of ['the-old-plan', 'the-new-plan', made.key, rotated.body.key])
      expect(text).not.toContain(unsaid)
  })

  test('a key that is switched off is switched on again; what it may do changes at once', async () => {
    const world = await shop()
    const back = await serviceClient(world)
    const made = await create(world)
    const asked = { permissions: ['WRITE'] }
    expect(await back.codeOf(made.key, asked)).toBe('VALID')
    for (const [body, code] of [
      [{ enabled: false }, 'DISABLED'],
      [{ enabled: true }, 'VALID'],
      [{ permissions: ['READ'] }, 'INSUFFICIENT_PERMISSIONS'],
      [{ permissions: ['READ', 'WRITE'] }, 'VALID'],
      [{ ipAllowlist: ['192.0.2.0/24'] }, 'FORBIDDEN_IP'],
      [{ ipAllowlist: null }, 'VALID'],
    ] as const) {
      await change(world, made.id, body)
      expect([body, await back.codeOf(made.key, asked)]).toEqual([body, code])
    }
  })
})

// ---- rotate ---------------------------------------------------------------------------------------------------------

describe('rotate', () => {
  test('200: the same key with a new secret; without a grace the old one ends at once', async () => {
    const world = await shop()
    const back = await serviceClient(world)
    for (const body of [undefined, {}, { gracePeriodSeconds: 0 }]) {
      const { key, ...before } = await create(world, {
        metadata: { a: 1 },
        rateLimit: { limit: 100, windowSeconds: 60 },
      })
      expect(await back.codeOf(key)).toBe('VALID')
      const rotated = await rotate(world, before.id, body)
      expect([rotated.status, rotated.headers.get('etag'), rotated.headers.get('cache-control')]).toEqual([
        200,
        '"r2"',
        'no-store',
      ])
      expect(rotated.body).toEqual({
        ...before,
        key: expect.stringMatching(SECRET),
        start: rotated.body.key.slice(0, 13),
        updatedAt: rotated.body.updatedAt,
        // Uses are written down a few seconds later.
        lastUsedAt: rotated.body.lastUsedAt,
      })
      expect(rotated.body.key).not.toBe(key)
      expect([await back.codeOf(key), await back.codeOf(rotated.body.key)]).toEqual(['NOT_FOUND', 'VALID'])
      const { key: _, ...shown } = rotated.body
      const after = await read(world, before.id)
      expect(after.body).toEqual({ ...shown, lastUsedAt: after.body.lastUsedAt })
    }
  })

  test('the grace is exact, and both secrets are the same key while it lasts', async () => {
    const world = await shop()
    const back = await serviceClient(world)
    const made = await create(world)
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const rotated = await rotate(world, made.id, { gracePeriodSeconds: 3600 })
    const end = Date.parse(rotated.body.rotation.previousExpiresAt)
    expect(rotated.body.rotation).toEqual({ previousExpiresAt: expect.any(String), previousLastUsedAt: null })
    expect(end - Date.parse(rotated.body.updatedAt)).toBe(3_600_000)
    expect(end - now().getTime()).toBe(3_600_000)
    const verdicts = [await back.verify(made.key), await back.verify(rotated.body.key)]
    expect(verdicts[0]?.body).toMatchObject({ valid: true, keyId: made.id })
    expect(verdicts[0]?.text).toBe(verdicts[1]?.text)

    travel(end - now().getTime() - 1)
    expect(await back.codeOf(made.key)).toBe('VALID')
    travel(1)
    expect(await back.verify(made.key)).toMatchObject({ body: NOBODY })
    expect(await back.codeOf(rotated.body.key)).toBe('VALID')
    expect((await read(world, made.id)).body.rotation).toBeNull()
    // As a caller it is an unknown credential like any other.
    expect((await world.api.get('/v1/key', { as: made.key })).body.code).toBe('invalid_token')
  })

  test('422 beyond 30 days; 400 for a body that is none', async () => {
    const world = await shop()
    const made = await create(world)
    for (const [grace, fault] of [
      [-1, 'too_small'],
      [2_592_001, 'too_large'],
      [1.5, 'invalid_type'],
      ['60', 'invalid_type'],
      [null, 'invalid_type'],
    ] as const) {
      const refused = await rotate(world, made.id, { gracePeriodSeconds: grace })
      expect([grace, refused.status, refused.body.errors?.[0]]).toEqual([
        grace,
        422,
        expect.objectContaining({ pointer: '#/gracePeriodSeconds', code: fault }),
      ])
    }
    expect((await rotate(world, made.id, { grace: 1 })).body.errors[0].code).toBe('unknown_member')
    const { status } = await world.api.post(`${world.keys}/${made.id}/rotate`, undefined, {
      as: world.owner.token,
      raw: '{',
    })
    expect(status).toBe(400)
    expect((await read(world, made.id)).headers.get('etag')).toBe('"r1"')
    const longest = await rotate(world, made.id, { gracePeriodSeconds: 2_592_000 })
    expect(Date.parse(longest.body.rotation.previousExpiresAt) - Date.parse(longest.body.updatedAt)).toBe(30 * DAY)
  })

  test('a grace never outlives the key, also when the key’s end is moved afterwards', async () => {
    const world = await shop()
    const back = await serviceClient(world)
    const expiresAt = new Date(now().getTime() + HOUR).toISOString()
    const made = await create(world, { expiresAt })
    const rotated = await rotate(world, made.id, { gracePeriodSeconds: 7200 })
    expect(rotated.body.rotation.previousExpiresAt).toBe(expiresAt)
    const sooner = new Date(now().getTime() + HOUR / 2).toISOString()
    const moved = await change(world, made.id, { expiresAt: sooner })
    expect(moved.body.rotation).toEqual({ previousExpiresAt: sooner, previousLastUsedAt: null })
    expect((await change(world, made.id, { expiresAt: null })).body.rotation.previousExpiresAt).toBe(expiresAt)
    await change(world, made.id, { expiresAt: sooner })
    travel(HOUR / 2 + SECOND)
    expect([await back.codeOf(made.key), await back.codeOf(rotated.body.key)]).toEqual(['EXPIRED', 'EXPIRED'])
    expect((await read(world, made.id)).body).toMatchObject({ status: 'EXPIRED', rotation: null })
  })

  test('at most two secrets ever work: rotating again ends the older at once', async () => {
    const world = await shop()
    const back = await serviceClient(world)
    const made = await create(world)
    const secrets = [made.key]
    for (const [gracePeriodSeconds, working] of [
      [3600, 2],
      [3600, 2],
      [60, 2],
      [0, 1],
      [3600, 2],
    ] as const) {
      secrets.push((await rotate(world, made.id, { gracePeriodSeconds })).body.key)
      const codes = await Promise.all(secrets.map((secret) => back.codeOf(secret)))
      expect(codes).toEqual(secrets.map((_, i) => (i >= secrets.length - working ? 'VALID' : 'NOT_FOUND')))
    }
    await revoke(world, made.id)
    for (const secret of secrets.slice(-2)) expect(await back.codeOf(secret)).toBe('REVOKED')
  })

  test('`rotation` shows truly who uses which secret', async () => {
    const world = await shop({ alone: true }, USAGE_AT_ONCE)
    const back = await serviceClient(world)
    const made = await create(world)
    const usedOld = now().getTime()
    await back.codeOf(made.key)
    const rotated = await rotate(world, made.id, { gracePeriodSeconds: 3600 })
    const previous = async () => (await read(world, made.id)).body.rotation.previousLastUsedAt
    // Used before the rotation, written down after it: still the old secret's.
    await until(async () => (await previous()) !== null)
    const first = Date.parse(await previous())
    expect([first >= usedOld, first <= now().getTime()]).toEqual([true, true])
    await back.codeOf(rotated.body.key)
    await until(async () => Date.parse((await read(world, made.id)).body.lastUsedAt) > first)
    expect(Date.parse(await previous())).toBe(first)
    // Rotated again, what was the current one's becomes the previous one's.
    const newer = Date.parse((await read(world, made.id)).body.lastUsedAt)
    const again = await rotate(world, made.id, { gracePeriodSeconds: 3600 })
    expect(Date.parse(again.body.rotation.previousLastUsedAt)).toBe(newer)
  })

  test('a key that is switched off may be rotated, and stays off', async () => {
    const world = await shop()
    const back = await serviceClient(world)
    const made = await create(world)
    await change(world, made.id, { enabled: false })
    const rotated = await rotate(world, made.id, { gracePeriodSeconds: 60 })
    expect(rotated.body).toMatchObject({ status: 'DISABLED', enabled: false })
    for (const key of [made.key, rotated.body.key]) expect(await back.codeOf(key)).toBe('DISABLED')
    await change(world, made.id, { enabled: true })
    for (const key of [made.key, rotated.body.key]) expect(await back.codeOf(key)).toBe('VALID')
  })

  test('a key rotates itself', async () => {
    const world = await shop()
    const { api, keys } = world
    const robot = await create(world, { permissions: ['READ', 'MANAGE_KEYS'] })
    const rotated = await api.post(`${keys}/${robot.id}/rotate`, { gracePeriodSeconds: 60 }, { as: robot.key })
    expect(rotated.status).toBe(200)
    for (const as of [robot.key, rotated.body.key]) expect((await api.get('/v1/key', { as })).body.id).toBe(robot.id)
    const again = await api.post(`${keys}/${robot.id}/rotate`, {}, { as: rotated.body.key })
    expect(again.status).toBe(200)
    for (const as of [robot.key, rotated.body.key]) expect((await api.get('/v1/key', { as })).status).toBe(401)
  })

  test('a lost answer is given again, five times within the hour, and never a second rotation', async () => {
    const world = await shop()
    const back = await serviceClient(world)
    const made = await create(world)
    const retry = { headers: { 'idempotency-key': randomUUID() } }
    const rotated = await rotate(world, made.id, { gracePeriodSeconds: 60 }, retry)
    for (let n = 0; n < 5; n++) {
      const again = await rotate(world, made.id, { gracePeriodSeconds: 60 }, retry)
      expect([again.status, again.text, again.headers.get('idempotent-replayed')]).toEqual([200, rotated.text, 'true'])
    }
    const { status, body } = await rotate(world, made.id, { gracePeriodSeconds: 60 }, retry)
    expect([status, body.code, body.resource]).toEqual([409, 'secret_no_longer_available', { id: made.id }])
    expect((await rotate(world, made.id, { gracePeriodSeconds: 61 }, retry)).body.code).toBe('idempotency_mismatch')
    expect([await back.codeOf(made.key), await back.codeOf(rotated.body.key)]).toEqual(['VALID', 'VALID'])
    expect((await eventsOf(world, made.id)).map(({ type }) => type)).toEqual(['key.created', 'key.rotated'])
    const hourly = { headers: { 'idempotency-key': randomUUID() } }
    await rotate(world, made.id, {}, hourly)
    travel(HOUR + SECOND)
    expect((await rotate(world, made.id, {}, hourly)).body.code).toBe('secret_no_longer_available')
  })

  test('409: what was rotated again, revoked or used is shown to nobody any more', async () => {
    const world = await shop({ alone: true }, USAGE_AT_ONCE)
    const back = await serviceClient(world)
    const used = async (id: string) =>
      (await world.sql('select secret_used_at from api_keys where id = $1', [id]))[0].secret_used_at !== null
    const ends: Record<string, (id: string, secret: string) => Promise<unknown>> = {
      revoked: (id) => revoke(world, id),
      'rotated again': (id) => rotate(world, id, { gracePeriodSeconds: 60 }),
      used: async (id, secret) => {
        await back.codeOf(secret)
        await until(() => used(id))
      },
    }
    for (const [what, end] of Object.entries(ends)) {
      const made = await create(world)
      const retry = { headers: { 'idempotency-key': randomUUID() } }
      const rotated = await rotate(world, made.id, {}, retry)
      expect((await rotate(world, made.id, {}, retry)).text).toBe(rotated.text)
      await end(made.id, rotated.body.key)
      const { status, body } = await rotate(world, made.id, {}, retry)
      expect([what, status, body.code, body.resource]).toEqual([
        what,
        409,
        'secret_no_longer_available',
        { id: made.id },
      ])
    }
  })

  test('403: a retry shows the secret only to a caller who might still rotate the key', async () => {
    const world = await shop()
    const { api, keys, member, owner, store } = world
    const manager = await member('MANAGER')
    const weakened = await create(world, { permissions: ['READ', 'WRITE'] })
    const strengthened = await create(world, { permissions: ['READ'] })
    const retry = (id: string) => ({ as: manager.token, headers: { 'idempotency-key': `rotate-${id}` } })
    for (const { id } of [weakened, strengthened])
      expect((await api.post(`${keys}/${id}/rotate`, {}, retry(id))).status).toBe(200)
    await change(world, strengthened.id, { permissions: ['READ', 'MANAGE_ORDERS'] })
    await api.patch(
      `/v1/user/store/${store.id}/members/${manager.id}`,
      { permissions: ['READ', 'MANAGE_KEYS'] },
      { as: owner.token },
    )
    for (const [{ id }, lacking] of [
      [weakened, ['WRITE']],
      [strengthened, ['MANAGE_ORDERS']],
    ] as const) {
      const refused = await api.post(`${keys}/${id}/rotate`, {}, retry(id))
      expect(refused.body).toMatchObject({ status: 403, code: 'cannot_grant', permissions: lacking })
    }
  })

  test('twenty at once on two nodes: one secret is left, and whoever lost has none', async () => {
    const world = await shop()
    const other = await world.node()
    const back = await serviceClient(world)
    for (const gracePeriodSeconds of [0, 3600]) {
      const made = await create(world)
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          (n % 2 ? world.api : other).post(
            `${world.keys}/${made.id}/rotate`,
            { gracePeriodSeconds },
            { as: world.owner.token },
          ),
        ),
      )
      const winners = answers.filter(({ status }) => status === 200)
      const losers = answers.filter(({ status }) => status !== 200)
      expect(winners.length).toBeGreaterThanOrEqual(1)
      for (const { status, body, text } of losers) {
        // 503: on a busy machine some have waited too long.
        if (status !== 503) expect([status, body.code]).toEqual([409, 'rotation_conflict'])
        expect(text).not.toMatch(/skp_prod_/)
      }
      await world.everywhere()
      const { body: record } = await read(world, made.id)
      for (const at of [world.api, other]) {
        const codes = await Promise.all(winners.map(({ body }) => back.codeOf(body.key, {}, at)))
        const current = winners.filter(({ body }) => body.start === record.start)
        expect(current.map(({ body }) => codes[winners.findIndex((winner) => winner.body.key === body.key)])).toEqual([
          'VALID',
        ])
        // With a grace the one before the last works too, and no other.
        const working = [await back.codeOf(made.key, {}, at), ...codes].filter((code) => code === 'VALID')
        expect(working).toHaveLength(gracePeriodSeconds === 0 ? 1 : 2)
      }
      const [{ secret_no }] = await world.sql('select secret_no from api_keys where id = $1', [made.id])
      expect(secret_no).toBe(1 + winners.length)
    }
  })

  test('409: a rotation that came in before another was over, at another node, has lost, though it looks later', async () => {
    const world = await shop({ alone: true })
    const other = await world.node()
    const made = await create(world)
    const rotateAt = (at: typeof other) =>
      at.post(`${world.keys}/${made.id}/rotate`, { gracePeriodSeconds: 60 }, { as: world.owner.token })
    const held = 'select from pg_stat_activity where $1 = any(pg_blocking_pids(pid)) and query like $2'
    const waiting = async ({ pid }: { pid: number }, words: string) => (await world.sql(held, [pid, words])).length > 0
    const events = await holdTable(world, 'events')
    const winner = rotateAt(world.api)
    // Its new secret is written, but not committed; the other comes in, and is kept from looking until it is.
    // The sealing, which only reads events, waits for them too.
    await until(() => waiting(events, '%insert into events%'))
    const users = await holdTable(world, 'users')
    const loser = rotateAt(other)
    await until(() => waiting(users, '%'))
    await events.release()
    expect((await winner).status).toBe(200)
    await users.release()
    expect((await loser).body).toMatchObject({ status: 409, code: 'rotation_conflict' })
    expect((await rotateAt(other)).status).toBe(200)
    // A node that died after the commit, before it said that the rotation is over, stands in the way for 10 seconds.
    await world.sql(`update api_keys set rotation_done_at = clock_timestamp() + interval '10 seconds'`)
    expect((await rotateAt(world.api)).status).toBe(409)
    await world.sql(`update api_keys set rotation_done_at = clock_timestamp()`)
    expect((await rotateAt(world.api)).status).toBe(200)
  })

  test('one after the other, as fast as they come, both are done', async () => {
    const world = await shop()
    const other = await world.node()
    const made = await create(world)
    for (let n = 0; n < 20; n++) {
      const at = n % 2 ? world.api : other
      const { status } = await at.post(`${world.keys}/${made.id}/rotate`, {}, { as: world.owner.token })
      expect(status).toBe(200)
    }
  })
})

// ---- revoke ---------------------------------------------------------------------------------------------------------

describe('revoke', () => {
  test('200 with the record; again, it is the same answer', async () => {
    const world = await shop()
    const back = await serviceClient(world)
    const { key, ...before } = await create(world)
    const revoked = await revoke(world, before.id, 'found in a public repository')
    const { revokedAt } = revoked.body
    expect([revoked.status, revoked.headers.get('etag'), revoked.body]).toEqual([
      200,
      '"r2"',
      {
        ...before,
        status: 'REVOKED',
        revokedAt,
        revocationReason: 'found in a public repository',
        updatedAt: revokedAt,
        effectiveBy: new Date(Date.parse(revokedAt) + 2000).toISOString(),
        made: { keys: [], webhooks: [], members: [], serviceTokens: [] },
      },
    ])
    expect(await back.codeOf(key)).toBe('REVOKED')
    await sleep(5)
    for (const reason of ['another', undefined]) {
      const again = await revoke(world, before.id, reason)
      expect([again.status, again.text]).toEqual([200, revoked.text])
    }
    const stale = await world.api.delete(`${world.keys}/${before.id}`, {
      as: world.owner.token,
      headers: { 'if-match': '"r1"' },
    })
    expect(stale.text).toBe(revoked.text)
    expect((await eventsOf(world, before.id)).map(({ type }) => type)).toEqual(['key.created', 'key.revoked'])
    const { effectiveBy: _, made: __, ...record } = revoked.body
    expect((await read(world, before.id)).body).toEqual(record)
    expect((await world.api.get('/v1/key', { as: key })).body.code).toBe('invalid_token')
  })

  test('412 when stale, 422 for a reason that is none, 200 without one', async () => {
    const world = await shop()
    const made = await create(world)
    const path = `${world.keys}/${made.id}`
    const as = world.owner.token
    expect((await world.api.delete(path, { as, headers: { 'if-match': '"r9"' } })).status).toBe(412)
    for (const query of ['reason=', `reason=${'x'.repeat(201)}`, 'reason=a%00b', 'why=x', 'reason=a&reason=b'])
      expect([query, (await world.api.delete(`${path}?${query}`, { as })).status]).toEqual([query, 422])
    expect((await read(world, made.id)).body.status).toBe('ACTIVE')
    expect((await revoke(world, made.id)).body.revocationReason).toBeNull()
  })

  test('it frees a place under the limit, once', async () => {
    const world = await shop({ MAX_KEYS_PER_STORE: '2' })
    const { api, keys, owner } = world
    const one = await create(world)
    await create(world)
    expect((await api.post(keys, NEW_KEY, { as: owner.token })).body.code).toBe('limit_exceeded')
    await revoke(world, one.id)
    await revoke(world, one.id)
    expect((await api.post(keys, NEW_KEY, { as: owner.token })).status).toBe(201)
    expect((await api.post(keys, NEW_KEY, { as: owner.token })).body.code).toBe('limit_exceeded')
  })

  test('an expired key can be revoked, and frees no place that it had given up before', async () => {
    const world = await shop({ MAX_KEYS_PER_STORE: '2' })
    const { api, keys, owner } = world
    const made = await create(world, { expiresAt: new Date(Date.now() + HOUR).toISOString() })
    travel(HOUR + SECOND)
    await create(world)
    await create(world)
    expect((await revoke(world, made.id)).body.status).toBe('REVOKED')
    expect((await api.post(keys, NEW_KEY, { as: owner.token })).body.code).toBe('limit_exceeded')
  })

  test('of many at once the first decides, and all are told the same', async () => {
    const world = await shop()
    const other = await world.node()
    const made = await create(world)
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        (n % 2 ? world.api : other).delete(`${world.keys}/${made.id}?reason=${n}`, { as: world.owner.token }),
      ),
    )
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    expect((await eventsOf(world, made.id)).map(({ type }) => type)).toEqual(['key.created', 'key.revoked'])
  })
})

// ---- freeze ---------------------------------------------------------------------------------------------------------

test('a frozen store: every key answers FROZEN until it is thawed, and no other store is touched', async () => {
  const world = await shop()
  const { api, keys, owner, store } = world
  const back = await serviceClient(world, null)
  const { body: second } = await api.post('/v1/user/store', { name: 'Second' }, { as: owner.token })
  const { body: elsewhere } = await api.post(`/v1/user/store/${second.id}/keys`, NEW_KEY, { as: owner.token })
  const manager = await create(world, { permissions: ['READ', 'MANAGE_KEYS'] })
  const [live, off, revoked, rotated] = await Promise.all([1, 2, 3, 4].map(() => create(world)))
  const expired = await create(world, { expiresAt: new Date(Date.now() + HOUR).toISOString() })
  await change(world, off?.id, { enabled: false })
  await revoke(world, revoked?.id)
  const fresh = await rotate(world, rotated?.id, { gracePeriodSeconds: 86_400 })
  travel(HOUR + SECOND)
  const all = [live, off, revoked, expired, manager, rotated].map((made) => made.key).concat(fresh.body.key)
  const codes = () => Promise.all(all.map((key) => back.codeOf(key)))
  const thawed = ['VALID', 'DISABLED', 'REVOKED', 'EXPIRED', 'VALID', 'VALID', 'VALID']
  const frozen = ['FROZEN', 'DISABLED', 'REVOKED', 'EXPIRED', 'FROZEN', 'FROZEN', 'FROZEN']
  const press = (what: string, as = owner.token) => api.post(`${keys}/${what}`, undefined, { as })
  expect(await codes()).toEqual(thawed)

  const first = await press('freeze')
  expect([first.status, first.body]).toEqual([200, { affected: 4 }])
  expect(await codes()).toEqual(frozen)
  expect((await press('freeze')).body).toEqual({ affected: 0 })
  expect((await api.get('/v1/key', { as: manager.key })).body.code).toBe('invalid_token')
  expect((await press('unfreeze', manager.key)).status).toBe(401)
  expect(await back.codeOf(elsewhere.key)).toBe('VALID')
  // The record says nothing of it, and the store can still be managed.
  expect((await read(world, live?.id)).body.status).toBe('ACTIVE')
  const born = await create(world)
  expect(await back.codeOf(born.key)).toBe('FROZEN')

  expect((await press('unfreeze')).body).toEqual({ affected: 5 })
  expect((await press('unfreeze')).body).toEqual({ affected: 0 })
  expect(await codes()).toEqual(thawed)
  expect(await back.codeOf(born.key)).toBe('VALID')
  expect((await api.get('/v1/key', { as: manager.key })).status).toBe(200)
  expect((await eventsOf(world, store.id)).map(({ type }) => type)).toEqual([
    'store.created',
    'store.frozen',
    'store.unfrozen',
  ])
  // A key may pull the brake, though it cannot let go of it.
  expect((await press('freeze', manager.key)).body).toEqual({ affected: 5 })
  expect((await press('unfreeze', manager.key)).status).toBe(401)
})

// ---- helpers --------------------------------------------------------------------------------------------------------

/** What verifying an unknown key says. */
const NOBODY = {
  valid: false,
  code: 'NOT_FOUND',
  keyId: null,
  storeId: null,
  name: null,
  type: null,
  permissions: null,
  metadata: null,
  expiresAt: null,
}

async function create({ api, keys, owner }: Shop, more: object = {}) {
  const { status, body } = await api.post(keys, { ...NEW_KEY, ...more }, { as: owner.token })
  expect(status).toBe(201)
  return body
}

const read = ({ api, keys, owner }: Shop, id: string) => api.get(`${keys}/${id}`, { as: owner.token })

const change = ({ api, keys, owner }: Shop, id: string, body: unknown, ask: object = {}) =>
  api.patch(`${keys}/${id}`, body, { as: owner.token, ...ask })

const rotate = ({ api, keys, owner }: Shop, id: string, body: unknown, ask: object = {}) =>
  api.post(`${keys}/${id}/rotate`, body, { as: owner.token, ...ask })

const revoke = ({ api, keys, owner }: Shop, id: string, reason?: string) =>
  api.delete(`${keys}/${id}${reason ? `?reason=${encodeURIComponent(reason)}` : ''}`, { as: owner.token })

const eventsOf = ({ sql }: Shop, subject: string) =>
  sql('select store_id, type, subject, actor, data from events where subject = $1 order by id', [subject])

/** Waits for what must come true within a minute: use is written down every five. */
async function until(isTrue: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 60_000
  while (!(await isTrue())) {
    if (Date.now() > end) throw new Error('It did not come true within a minute')
    await sleep(50)
  }
}

test('the trigger that notifies the nodes names every column that a change may concern', async () => {
  const { sql } = await shop()
  const rows = await sql(`
    select attname as name
      from pg_trigger
      join pg_attribute on attrelid = tgrelid and attnum = any(tgattr)
     where tgname = 'api_keys_notify_changed'`)
  expect(rows.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(CHANGEABLE_COLUMNS)))
})

/** Nobody reads or writes the table until it is released. */
async function holdTable({ databaseUrl }: Shop, table: string) {
  const client = new pg.Client({ connectionString: databaseUrl })
  client.on('error', () => {})
  await client.connect()
  onTestFinished(() => client.end())
  await client.query(`begin; lock table ${table} in access exclusive mode`)
  const [{ pid }] = (await client.query('select pg_backend_pid() as pid')).rows
  return { pid: pid as number, release: () => client.query('rollback') }
}
