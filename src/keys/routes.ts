// The routes of API keys.

import { failInput } from '../core/errors.ts'
import { KEY_TYPE_NAMES } from '../core/key-types.ts'
import { PageQuery } from '../core/pagination.ts'
import { type Route, route } from '../core/route.ts'
import { MAX_EXTERNAL_ID_LENGTH } from '../schema/external-id.ts'
import { DateTime, Line, OneOf } from '../schema/fields.ts'
import { Type } from '../schema/type.ts'
import { changeKeys } from './bulk.ts'
import { parseBulk } from './bulk-input.ts'
import { changeCredits } from './change-credits.ts'
import { createKey } from './create.ts'
import { freezeKeys } from './freeze.ts'
import { importKeys } from './import.ts'
import {
  NAMES_IN_FORM,
  parseCreditChange,
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
  BulkChange,
  BulkResults,
  CreditChange,
  DocumentedKeyImport,
  GithubFeedback,
  GithubReports,
  Grantable,
  Introspected,
  Introspection,
  KEY_STATUSES,
  Key,
  KeyChanges,
  KeyImport,
  KeyImportResults,
  Keys,
  KeyUsage,
  KeyWithSecret,
  LeakAccepted,
  LeakReport,
  NewKey,
  NULLABLE_SETTINGS,
  OwnerUsage,
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
import { spendOnce } from './spend.ts'
import { checkSecretReplay, updateKey } from './update.ts'
import { readAdvice, readOwnerUsage, readStoreUsage, readUsage } from './usage-report.ts'
import { introspect, showIntrospected } from './verify.ts'

const MAX_IMPORT_BYTES = 2 * 1024 * 1024

const CLEARABLE = NULLABLE_SETTINGS.map((name) => `\`${name}\``).join(', ')

const usageQuery = {
  from: Type.Optional(
    DateTime({
      description: 'The start of the period. Defaults to one day before `to`, or 30 days with `interval=day`.',
    }),
  ),
  to: Type.Optional(DateTime({ description: 'The end of the period. Defaults to now.' })),
  interval: Type.Optional(OneOf(['hour', 'day'], { description: 'The length of an interval. Defaults to `hour`.' })),
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
        "The response has the full key as `key`. It is shown only once, so store it now. If the response is lost, send the same request with the same `Idempotency-Key` within an hour: you get the same key, not a second one. You can't grant permissions you don't have, nor create a key that is less restricted than the key you use.",
      body: NewKey,
      parse: parseNewKey,
      returns: [201, KeyWithSecret],
      etag: true,
      errors: ['cannot_grant', 'limit_exceeded', 'secret_no_longer_available'],
      revealsSecret: true,
      checkReplay: checkSecretReplay,
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
      id: 'keys.import',
      method: 'POST',
      path: '/v1/user/store/:storeId/keys/import',
      needs: 'MANAGE_KEYS',
      summary: 'Import keys',
      description:
        'Takes up to 1,000 keys that were created elsewhere, in a body of up to 2 MiB: their values, or the SHA-256 of them, with the settings of a new key. Each succeeds or fails on its own. Sending the same import again changes nothing: a value that the store has, or had, `exists`. Holders keep using the values they have; every node finds them within 2 seconds, for verifying in this store only. An imported key can call this API once it is rotated. One import at a time per store, and two per account: another one gets 429.',
      body: KeyImport,
      documentedBody: DocumentedKeyImport,
      maxBodyBytes: MAX_IMPORT_BYTES,
      oneAtATime: 'import',
      returns: [200, KeyImportResults],
      effect: 'own',
      example: {
        body: {
          keys: [
            {
              sha256: 'n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg',
              name: 'Warehouse',
              type: 'PROD',
              permissions: ['READ'],
              owner: 'customer-42',
            },
          ],
        },
      },
    },
    ({ db, instance, caller, params, body, idempotency }) =>
      importKeys(db, instance, caller, params.storeId, body.keys, idempotency),
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
          owner: Type.Optional(
            Type.String({ maxLength: 4 * MAX_EXTERNAL_ID_LENGTH, description: 'Only keys of this owner.' }),
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
      summary: 'List what I can grant',
      description: 'The permissions and types that you can give to a key in this store.',
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
      description: `Fields that are left out keep their value; \`null\` clears ${CLEARABLE}. \`"enabled": false\` disables the key until it is enabled again. You cannot change a key that has more permissions than you or, when you use a key yourself, one that is less restricted. An expired or revoked key cannot be revived.`,
      body: KeyChanges,
      parse: parseKeyChanges,
      returns: [200, Key],
      etag: true,
      errors: ['key_not_found', 'cannot_grant', 'own_key', 'key_revoked', 'key_expired', 'precondition_failed'],
      example: { body: { name: 'Checkout and cart', permissions: ['READ'] } },
    },
    ({ db, instance, caller, params, body, ifMatch }) => updateKey(db, instance, caller, params, body, ifMatch),
  ),
  route(
    {
      id: 'keys.changeCredits',
      method: 'POST',
      path: '/v1/user/store/:storeId/keys/:keyId/credits',
      needs: 'MANAGE_KEYS',
      summary: 'Set or add credits',
      description:
        'Sets what the key has left, or adds to it, exactly, whatever is spent meanwhile. The key must have `credits`; to change its refill, change the key.',
      body: CreditChange,
      parse: parseCreditChange,
      returns: [200, Key],
      etag: true,
      errors: [
        'key_not_found',
        'cannot_grant',
        'own_key',
        'key_revoked',
        'key_expired',
        'no_credits',
        'response_no_longer_available',
      ],
      access: 'unchanged',
      example: { body: { add: 1000 } },
    },
    ({ db, instance, caller, params, body }) => changeCredits(db, instance, caller, params, body),
  ),
  route(
    {
      id: 'keys.rotate',
      method: 'POST',
      path: '/v1/user/store/:storeId/keys/:keyId/rotate',
      needs: 'MANAGE_KEYS',
      summary: 'Rotate a key',
      description:
        'Gives the key a new secret, which is shown only once; its id and everything else stay the same. During the grace period the old secret can still be verified and can read, and `rotation` shows whether anyone still uses it. Rotating again during the grace period ends the older secret immediately. If several rotations overlap, one of them wins.',
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
      checkReplay: checkSecretReplay,
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
        'The key stops working permanently: immediately on the node that responds, within 250 ms on the others, and by `effectiveBy` even on a node that has lost contact. The record stays, and open invitations sent with the key are withdrawn. `made` lists what was created with it, or with keys created with it. All of that keeps working unless you send `made=revoke`, which needs `MANAGE_WEBHOOKS` if there are webhooks among it. Revoking a revoked key gives the same response.',
      query: Type.Object(
        {
          reason: Type.Optional(Line(1, 200, { description: 'Why the key is revoked. Stored with the key.' })),
          made: Type.Optional(
            OneOf(['keep', 'revoke'], {
              default: 'keep',
              description:
                'What to do with the keys and webhooks created with it, and with keys it rotated: `keep` them, or `revoke` them.',
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
  route(
    {
      id: 'keys.bulk',
      method: 'POST',
      path: '/v1/user/store/:storeId/keys/bulk',
      needs: 'MANAGE_KEYS',
      summary: 'Change many keys',
      description:
        'Revokes, disables, enables or expires up to 1,000 keys, and answers for each. Each key has its own event, and fails on its own if you could not change it alone: one that has more permissions than you fails with `cannot_grant`, the key you use with `own_key`, though it can revoke itself; it comes last. The keys are changed a hundred at a time. A request that is interrupted leaves every key either changed or not: send it again with the same `Idempotency-Key`, and it continues where it stopped and answers for all. `owner` and `filter` match only keys that the action would change, so when `more` is `true`, the same request with a new `Idempotency-Key` takes the next ones. One bulk change at a time per store, and two per account: another one gets 429.',
      body: BulkChange,
      parse: parseBulk,
      oneAtATime: 'bulk change',
      returns: [200, BulkResults],
      effect: 'own',
      example: { body: { filter: { type: 'DEV', unusedSince: '2026-01-31T12:00:00Z' }, action: 'disable' } },
    },
    ({ db, instance, caller, params, body, idempotency }) =>
      changeKeys(db, instance, caller, params.storeId, body, idempotency),
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
          ? 'For emergencies: every key of the store is `FROZEN` until you unfreeze them. Nothing else about the keys changes.'
          : 'The keys of the store work again, except those that are revoked, expired or disabled.',
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
      summary: 'Read the usage of all keys',
      description:
        'The usage of every key of the store that was used in the period, newest key first, one page of keys at a time. Each page looks at up to 2,000 keys, so it can be empty and still have a `nextCursor`, and it has at most 5,000 hours or days, so for a long period it has fewer keys than `limit`.',
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
      summary: 'Read the usage of a key',
      description:
        'How often the key was verified or used to call this API, by outcome, per hour or per day (UTC). Hours are kept for 90 days, days for 400. Without `from` and `to`, you get the last 24 hours, or the last 30 days.',
      query: Type.Object(usageQuery, { additionalProperties: false }),
      returns: [200, KeyUsage],
      errors: ['key_not_found'],
      example: { query: 'interval=day' },
    },
    async ({ db, params, query }) => ({ body: await readUsage(db, params, query) }),
  ),
  route(
    {
      id: 'owners.usage',
      method: 'GET',
      path: '/v1/user/store/:storeId/owners/:owner/usage',
      needs: 'MANAGE_KEYS',
      summary: 'Read the usage of an owner',
      description:
        'The usage of all keys that have this `owner`, added up, revoked and expired keys included. An owner without keys has an empty list. What is counted, and for how long it is kept, is as for a single key.',
      query: Type.Object(usageQuery, { additionalProperties: false }),
      returns: [200, OwnerUsage],
      example: { query: 'interval=day' },
    },
    async ({ db, params, query }) => ({ body: await readOwnerUsage(db, params, query) }),
  ),
  route(
    {
      id: 'keys.advice',
      method: 'GET',
      path: '/v1/user/store/:storeId/keys/:keyId/advice',
      needs: 'MANAGE_KEYS',
      summary: 'List permissions a key does not need',
      description:
        'Which of its permissions were needed in the last 30 days, and which were not. A permission counts as needed when a back end asked for it in a verification, or when the key used it to call this API.',
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
        'For your back ends: is this key valid, and is it allowed to do this? **Always name the store**: send `storeId`, unless your service token is bound to a single store. Otherwise you would accept a key that anyone created in a store of their own. The status is 200 whether or not the key is valid, so read `valid` or `code`. `NOT_FOUND` reveals nothing else about the key. With `explain`, the response explains every check, and the call counts towards no rate limit and no usage.',
      body: Verification,
      parse: parseVerification,
      handlesFaults: true,
      returns: [200, Verdict],
      errors: ['response_no_longer_available'],
      storedWithoutMetadata: true,
      // Only what a key spends is written, and that by a batch.
      effect: 'own',
      access: 'unchanged',
      answersStale: true,
      example: {
        body: {
          key: 'skp_prod_4fQx',
          storeId: 'store_01k9wz3v5e8tvs8v4m8m3v5yqd',
          permissions: ['READ'],
          ip: '203.0.113.7',
        },
      },
    },
    async ({ verifier, caller, body: { explain, storeId, anyStore, ...asked }, faults, idempotency }) => {
      const stores = parseStores(caller.storeIds, { storeId, anyStore }, faults)
      if (faults.length > 0) failInput(faults)
      const question = { ...asked, stores, serviceId: caller.id, askerKnownAt: caller.knownAt }
      const once = spendOnce(idempotency, (verdict) => verdict)
      const verdict = await (explain ? verifier.explain(question) : verifier.verify(question, once))
      return { body: showVerdict(verdict), changedKeys: [] }
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
        'Verification as OAuth 2.0 token introspection (RFC 7662): the body is a form, and a key that is not valid, for any reason, returns `{"active": false}`. In addition to `token` you can send `scope`, `types`, `ip` and `store_id`. A service token for a single store needs no `store_id`, so that gateways with plain RFC 7662 support can use it.',
      body: Introspection,
      parse: parseIntrospection,
      handlesFaults: true,
      form: true,
      returns: [200, Introspected],
      errors: ['response_no_longer_available'],
      effect: 'own',
      access: 'unchanged',
      example: { body: { token: 'skp_prod_4fQx', store_id: 'store_01k9wz3v5e8tvs8v4m8m3v5yqd' } },
    },
    async ({ verifier, caller, body, faults, idempotency }) => {
      const asked = {
        storeId: body.store_id,
        anyStore: body.any_store === undefined ? undefined : body.any_store === 'true',
      }
      const stores = parseStores(caller.storeIds, asked, faults, NAMES_IN_FORM)
      if (faults.length > 0) failInput(faults)
      const once = spendOnce(idempotency, showIntrospected)
      return { body: await introspect(verifier, body, { stores, serviceId: caller.id }, once), changedKeys: [] }
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
        'For anyone who finds a key where it should not be. `TEST` and `DEV` keys are revoked immediately, `PROD` keys immediately or after the grace period their store has chosen, and the store gets an event. The response is the same whether or not there is such a key.',
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
        "The endpoint for GitHub's secret scanning partner program: the body is signed, and the response says for each token whether it is a key of this service. Keys are treated as in any other report.",
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
      summary: 'Read the key I am using',
      description:
        'The record of the API key that makes the request, and which of its secrets was used: during a rotation, two of them work.',
      returns: [200, OwnKey],
      etag: true,
    },
    ({ db, caller }) => readOwnKey(db, caller),
  ),
]
