// The routes of API keys.

import { failInput } from '../core/errors.ts'
import { KEY_TYPE_NAMES } from '../core/key-types.ts'
import { PageQuery } from '../core/pagination.ts'
import { type Route, route } from '../core/route.ts'
import { DateTime, Line, OneOf } from '../schema/fields.ts'
import { Type } from '../schema/type.ts'
import { createKey } from './create.ts'
import { freezeKeys } from './freeze.ts'
import {
  NAMES_IN_FORM,
  parseIntrospection,
  parseKeyChanges,
  parseNewKey,
  parseStores,
  parseVerification,
} from './input.ts'
import { reportLeak, reportLeaks } from './leaks.ts'
import { listKeys, readGrantable, readKey, readOwnKey } from './read.ts'
import { revokeKey } from './revoke.ts'
import { rotateKey } from './rotate.ts'
import {
  AffectedKeyCount,
  GithubFeedback,
  GithubReports,
  Grantable,
  Introspected,
  Introspection,
  KEY_STATUSES,
  Key,
  KeyChanges,
  Keys,
  KeyUsage,
  KeyWithSecret,
  LeakAccepted,
  LeakReport,
  NewKey,
  OwnKey,
  RevokedKey,
  Rotation,
  StoreUsage,
  showVerdict,
  UnusedPermissions,
  VERIFY_PATH,
  Verdict,
  Verification,
} from './schema.ts'
import { updateKey } from './update.ts'
import { readAdvice, readStoreUsage, readUsage } from './usage-report.ts'
import { introspect } from './verify.ts'

const usageQuery = {
  from: Type.Optional(DateTime({ description: 'The beginning. Left out: a day before `to`, or 30 days.' })),
  to: Type.Optional(DateTime({ description: 'The end. Left out: now.' })),
  interval: Type.Optional(OneOf(['hour', 'day'], { description: 'What is counted together. Left out: `hour`.' })),
}

export const keyRoutes: Route[] = [
  route(
    {
      id: 'keys.create',
      method: 'POST',
      path: '/v1/user/store/:storeId/keys',
      needs: 'MANAGE_KEYS',
      summary: 'Create an API key',
      description:
        'The answer carries the full key as `key`: it is shown once, here, and never again. Should the answer be lost on its way, send the same request with the same `Idempotency-Key` within the hour: you get the same key, not a second one. You cannot give a key what you do not hold yourself, nor fewer bounds than the key you use has.',
      body: NewKey,
      parse: parseNewKey,
      returns: [201, KeyWithSecret],
      etag: true,
      errors: ['cannot_grant', 'limit_exceeded', 'secret_no_longer_available'],
      revealsSecret: true,
      effect: 'own',
      access: 'unchanged',
      example: {
        body: {
          name: 'Checkout',
          type: 'PROD',
          permissions: ['READ', 'WRITE'],
          metadata: { description: 'Used by the checkout page' },
        },
      },
    },
    ({ db, instance, caller, params, body, idempotency }) =>
      createKey(db, instance, caller, params.storeId, body, idempotency),
  ),
  route(
    {
      id: 'keys.list',
      method: 'GET',
      path: '/v1/user/store/:storeId/keys',
      needs: 'MANAGE_KEYS',
      summary: 'List the keys',
      description: 'Newest first, without their secrets.',
      query: Type.Object(
        {
          ...PageQuery,
          status: Type.Optional(OneOf(KEY_STATUSES, { description: 'Only keys with this status.' })),
          type: Type.Optional(OneOf(KEY_TYPE_NAMES, { description: 'Only keys of this type.' })),
          q: Type.Optional(
            Line(1, 100, { description: 'Only keys whose name contains this, or whose `start` begins with it.' }),
          ),
          createdBy: Type.Optional(
            Type.String({ maxLength: 100, description: 'Only keys that the user or key with this id created.' }),
          ),
        },
        { additionalProperties: false },
      ),
      returns: [200, Keys],
      example: { query: 'status=ACTIVE&limit=10' },
    },
    ({ db, instance, params, query }) => listKeys(db, instance, params.storeId, query),
  ),
  route(
    {
      id: 'keys.grantable',
      method: 'GET',
      path: '/v1/user/store/:storeId/keys/grantable',
      needs: 'MANAGE_KEYS',
      summary: 'What may I grant',
      description: 'The permissions and types you can give to a key here.',
      returns: [200, Grantable],
    },
    async ({ caller }) => ({ body: readGrantable(caller) }),
  ),
  route(
    {
      id: 'keys.read',
      method: 'GET',
      path: '/v1/user/store/:storeId/keys/:keyId',
      needs: 'MANAGE_KEYS',
      summary: 'Read a key',
      description: 'The record, without its secret.',
      returns: [200, Key],
      etag: true,
      errors: ['key_not_found'],
    },
    ({ db, params }) => readKey(db, params.storeId, params.keyId),
  ),
  route(
    {
      id: 'keys.update',
      method: 'PATCH',
      path: '/v1/user/store/:storeId/keys/:keyId',
      needs: 'MANAGE_KEYS',
      summary: 'Change a key',
      description:
        'What is left out stays as it is; `null` clears `expiresAt`, `ipAllowlist` and `rateLimit`. `"enabled": false` switches the key off until it is switched on again. You cannot change a key that holds more than you do or, with a key, one that is bound less; a key that has expired or was revoked stays so.',
      body: KeyChanges,
      parse: parseKeyChanges,
      returns: [200, Key],
      etag: true,
      errors: ['key_not_found', 'cannot_grant', 'own_key', 'key_revoked', 'key_expired', 'precondition_failed'],
      example: { body: { name: 'Checkout and cart', permissions: ['READ'] } },
    },
    ({ db, caller, params, body, ifMatch }) => updateKey(db, caller, params, body, ifMatch),
  ),
  route(
    {
      id: 'keys.rotate',
      method: 'POST',
      path: '/v1/user/store/:storeId/keys/:keyId/rotate',
      needs: 'MANAGE_KEYS',
      summary: 'Rotate a key',
      description:
        'Gives the key a new secret, shown once, in this answer; its id and everything else stay. The old secret verifies and reads for the grace period, and `rotation` shows whether anyone still uses it. Rotating again within the grace ends the older secret at once. Of rotations that overlap in time one wins.',
      body: Rotation,
      bodyOptional: true,
      returns: [200, KeyWithSecret],
      etag: true,
      errors: [
        'key_not_found',
        'cannot_grant',
        'precondition_failed',
        'key_revoked',
        'key_expired',
        'rotation_conflict',
        'secret_no_longer_available',
      ],
      revealsSecret: true,
      effect: 'own',
      example: { body: { gracePeriodSeconds: 86_400 } },
    },
    ({ db, instance, caller, params, body, idempotency, request, ifMatch }) =>
      rotateKey(
        db,
        instance,
        caller,
        params,
        { gracePeriodSeconds: body.gracePeriodSeconds ?? 0, cameIn: request.at, ifMatch },
        idempotency,
      ),
  ),
  route(
    {
      id: 'keys.revoke',
      method: 'DELETE',
      path: '/v1/user/store/:storeId/keys/:keyId',
      needs: 'MANAGE_KEYS',
      summary: 'Revoke a key',
      description:
        'It stops working for ever: at once on the node that answers, within 250 ms on the others, and by `effectiveBy` even on one that is cut off. The record stays, and open invitations that were made with it are withdrawn. `made` lists what was made with it, or with keys made with it; all of that goes on, unless `made=revoke` ends it too: the webhooks among it need `MANAGE_WEBHOOKS`. Revoking it again is answered the same.',
      query: Type.Object(
        {
          reason: Type.Optional(Line(1, 200, { description: 'Kept with the key, for whoever wonders later.' })),
          made: Type.Optional(
            OneOf(['keep', 'revoke'], {
              default: 'keep',
              description: 'What becomes of the keys and webhooks that were made with it, and of keys it rotated.',
            }),
          ),
        },
        { additionalProperties: false },
      ),
      returns: [200, RevokedKey],
      etag: true,
      errors: ['key_not_found', 'precondition_failed'],
      example: { query: 'reason=leaked' },
    },
    ({ db, caller, params, query: { reason = null, made = 'keep' }, ifMatch }) =>
      revokeKey(db, caller, params, { reason, made, ifMatch }),
  ),
  ...([true, false] as const).map((frozen) =>
    route(
      {
        id: frozen ? 'keys.freeze' : 'keys.unfreeze',
        method: 'POST',
        path: `/v1/user/store/:storeId/keys/${frozen ? 'freeze' : 'unfreeze'}`,
        needs: 'MANAGE_KEYS',
        summary: frozen ? 'Freeze all keys' : 'Unfreeze all keys',
        description: frozen
          ? 'The emergency brake: every key of the store answers `FROZEN` until it is unfrozen. Nothing else about them changes.'
          : 'The keys of the store work again, those that worked before.',
        returns: [200, AffectedKeyCount],
      },
      async ({ db, caller, params }) => ({ body: await freezeKeys(db, caller, params.storeId, frozen) }),
    ),
  ),
  route(
    {
      id: 'keys.storeUsage',
      method: 'GET',
      path: '/v1/user/store/:storeId/keys/usage',
      needs: 'MANAGE_KEYS',
      summary: 'How all keys are used',
      description:
        'The same for every key of the store that was used in that time, newest key first, a page of keys at a time.',
      query: Type.Object({ ...usageQuery, ...PageQuery }, { additionalProperties: false }),
      returns: [200, StoreUsage],
      example: { query: 'interval=day&limit=10' },
    },
    async ({ db, instance, params, query }) => ({
      body: await readStoreUsage(db, instance, params.storeId, query),
    }),
  ),
  route(
    {
      id: 'keys.usage',
      method: 'GET',
      path: '/v1/user/store/:storeId/keys/:keyId/usage',
      needs: 'MANAGE_KEYS',
      summary: 'How a key is used',
      description:
        'How often it was verified or used here, by outcome, by the hour or the day (UTC). Hours are kept for 90 days, days for 400. Without `from` and `to`: the last 24 hours, or 30 days.',
      query: Type.Object(usageQuery, { additionalProperties: false }),
      returns: [200, KeyUsage],
      errors: ['key_not_found'],
      example: { query: 'interval=day' },
    },
    async ({ db, params, query }) => ({ body: await readUsage(db, params, query) }),
  ),
  route(
    {
      id: 'keys.advice',
      method: 'GET',
      path: '/v1/user/store/:storeId/keys/:keyId/advice',
      needs: 'MANAGE_KEYS',
      summary: 'Rights a key does not need',
      description:
        'Which of its permissions were really needed in the last 30 days, and which were not: these can be taken from it.',
      returns: [200, UnusedPermissions],
      errors: ['key_not_found'],
    },
    async ({ db, params }) => ({ body: await readAdvice(db, params) }),
  ),
  route(
    {
      id: 'keys.verify',
      method: 'POST',
      path: VERIFY_PATH,
      needs: 'service',
      summary: 'Verify a key',
      description:
        'For your back ends: is this key valid, and may it do this? **Say whose key you expect**: send `storeId`, unless your service token is for that store alone; otherwise a key that anyone made in a store of their own would be accepted. The answer is 200 whenever it can be given; read `code`. `NOT_FOUND` reveals nothing else about the key. With `explain` the answer lists every check in words, and nothing is spent or counted.',
      body: Verification,
      parse: parseVerification,
      handlesFaults: true,
      returns: [200, Verdict],
      effect: 'read',
      example: {
        body: {
          key: 'skp_prod_4fQx',
          storeId: 'store_01k9wz3v5e8tvs8v4m8m3v5yqd',
          permissions: ['READ'],
          ip: '203.0.113.7',
        },
      },
    },
    async ({ verifier, caller, body: { explain, storeId, anyStore, ...asked }, faults }) => {
      const stores = parseStores(caller.storeIds, { storeId, anyStore }, faults)
      if (faults.length > 0) failInput(faults)
      const question = { ...asked, stores, serviceId: caller.id }
      return { body: showVerdict(await (explain ? verifier.explain(question) : verifier.verify(question))) }
    },
  ),
  route(
    {
      id: 'keys.introspect',
      method: 'POST',
      path: '/v1/oauth/introspect',
      needs: 'service',
      summary: 'Introspect a key',
      description:
        'The same question in the form of RFC 7662: the body is a form, and a key that is not good for whatever reason is `{"active": false}`. `scope`, `types`, `ip` and `store_id` may be sent beside `token`. A service token for one store needs no `store_id`, so a gateway that speaks plain RFC 7662 can use it.',
      body: Introspection,
      parse: parseIntrospection,
      handlesFaults: true,
      form: true,
      returns: [200, Introspected],
      effect: 'read',
      example: { body: { token: 'skp_prod_4fQx', store_id: 'store_01k9wz3v5e8tvs8v4m8m3v5yqd' } },
    },
    async ({ verifier, caller, body, faults }) => {
      const asked = {
        storeId: body.store_id,
        anyStore: body.any_store === undefined ? undefined : body.any_store === 'true',
      }
      const stores = parseStores(caller.storeIds, asked, faults, NAMES_IN_FORM)
      if (faults.length > 0) failInput(faults)
      return { body: await introspect(verifier, body, { stores, serviceId: caller.id }) }
    },
  ),
  route(
    {
      id: 'leaks.report',
      method: 'POST',
      path: '/v1/leaks',
      needs: 'public',
      summary: 'Report a leaked key',
      description:
        'For whoever comes across a key where it should not be. `TEST` and `DEV` keys are revoked at once, `PROD` keys at once or after the grace that their store has chosen, and the store is told by an event. The answer is the same whether the key is ours or not.',
      body: LeakReport,
      returns: [200, LeakAccepted],
      effect: 'own',
      example: { body: { key: 'skp_test_0000000000000000000000000000000028NGDy' } },
    },
    ({ db, instance, body }) => reportLeak(db, instance, body.key),
  ),
  route(
    {
      id: 'leaks.reportFromGithub',
      method: 'POST',
      path: '/v1/leaks/github',
      needs: 'public',
      signedBy: 'github',
      summary: 'Leaked keys found by GitHub',
      description:
        "Speaks the protocol of GitHub's secret scanning partner program: the body is signed, and the answer says of each token whether it is a key of ours. Keys are treated as in a report by anyone.",
      body: GithubReports,
      returns: [200, GithubFeedback],
      errors: ['invalid_signature'],
      effect: 'own',
      example: {
        body: [
          {
            token: 'skp_test_0000000000000000000000000000000028NGDy',
            type: 'storekeeper_api_key',
            url: 'https://github.com/octocat/hello-world/blob/main/config.yml',
            source: 'content',
          },
        ],
      },
    },
    ({ db, instance, body }) => reportLeaks(db, instance, body),
  ),
  route(
    {
      id: 'keys.self',
      method: 'GET',
      path: '/v1/key',
      needs: 'key',
      summary: 'Who am I',
      description:
        'Tells an API key about itself, and which of its secrets was presented: while a key is rotated, two work.',
      returns: [200, OwnKey],
      etag: true,
    },
    ({ db, caller }) => readOwnKey(db, caller),
  ),
]
