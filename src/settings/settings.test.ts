import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { NEW_KEY, shop } from '../../tests/shop.ts'
import { BUILT_IN_PERMISSIONS } from '../core/permissions.ts'

test('what a page must know is told to anyone, and the version is the package’s', async () => {
  const { api } = await shop({ SIGN_UP: 'closed', KEY_PREFIX: 'acme', MAX_WEBHOOKS_PER_STORE: '7' })
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  expect((await api.get('/v1/settings')).body).toEqual({
    version,
    signUp: 'closed',
    keyPrefix: 'acme',
    limits: {
      keysPerStore: 1000,
      addressesPerUser: 50,
      storesPerUser: 100,
      invitationsPerStore: 200,
      customersPerStore: 100000,
      webhooksPerStore: 7,
      sessionsPerUser: 100,
      versionsPerDay: 50,
    },
    mail: false,
    oidc: false,
  })
  expect((await api.get('/openapi.json')).body.info.version).toBe(version)
})

test('every permission has a description and its roles, those of the operator too', async () => {
  const { api, owner, keys, serviceToken } = await shop({ EXTRA_PERMISSIONS: 'VIEW_REPORTS' })
  const { data } = (await api.get('/v1/permissions', { as: owner.token })).body
  expect(data.map(({ permission }: { permission: string }) => permission)).toEqual([
    ...BUILT_IN_PERMISSIONS,
    'VIEW_REPORTS',
  ])
  for (const { description, roles } of data) {
    expect(description).toMatch(/^[A-Z].*\.$/)
    expect(roles).toContain('OWNER')
  }
  const rolesOf = (name: string) => data.find(({ permission }: { permission: string }) => permission === name).roles
  expect(rolesOf('READ')).toEqual(['OWNER', 'MANAGER', 'STAFF'])
  expect(rolesOf('MANAGE_STORE')).toEqual(['OWNER'])
  const { key } = (await api.post(keys, NEW_KEY, { as: owner.token })).body
  for (const as of [key, await serviceToken()]) expect((await api.get('/v1/permissions', { as })).status).toBe(200)
  expect((await api.get('/v1/permissions')).status).toBe(401)
})
