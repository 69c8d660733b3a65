// The types of events, one row each. The docs, the filters of the trail and a test of every event the service writes
// are made from this table.

import type { Static } from 'typebox'
import type { IdKind } from '../core/ids.ts'
import { pageOf } from '../core/pagination.ts'
import { ActorOf, DateTime, Id, Nullable, StoreId } from '../schema/fields.ts'
import { Type } from '../schema/type.ts'

type EventTypeRow = {
  /** The kind of id in `subject`. */
  subject: IdKind
  about: string
  /** The members of `data`, those that may be absent with a `?`. Never a secret, never the text of an address. */
  data: readonly string[]
}

export const EVENT_TYPES = {
  'user.created': { subject: 'user', about: 'An account was created.', data: [] },
  'user.password_changed': { subject: 'user', about: 'A user changed their password.', data: [] },
  'user.password_reset': {
    subject: 'user',
    about: 'A user set a new password with a one-time link. All sessions of the user were ended.',
    data: [],
  },
  'user.reset_issued': {
    subject: 'user',
    about: 'The operator created a one-time link for setting a new password.',
    data: [],
  },
  'user.updated': {
    subject: 'user',
    about:
      'The name, e-mail or mail preferences of a user were changed, by the user or by their identity provider. `changed` lists the fields.',
    data: ['changed'],
  },
  'user.email_confirmed': {
    subject: 'user',
    about: 'A user confirmed their e-mail address, which may be a new one.',
    data: [],
  },
  'user.email_lost': {
    subject: 'user',
    about: 'An account lost an e-mail address it had never confirmed, because another account confirmed it.',
    data: [],
  },
  'user.provider_linked': {
    subject: 'user',
    about:
      'An account was linked to a user of the identity provider, because the same e-mail address is confirmed on both sides. The user can now sign in either way.',
    data: ['issuer'],
  },
  'user.provider_unlinked': {
    subject: 'user',
    about:
      'The operator separated an account from the user of the identity provider it was linked to. All sessions of the user were ended, and their e-mail address has to be confirmed again.',
    data: ['issuer'],
  },
  'user.second_factor_enabled': {
    subject: 'user',
    about:
      'A user set up an authenticator app or added a passkey: `method` is `totp` or `passkey`. The first second factor of an account ends all its other sessions.',
    data: ['method', 'passkeyId?'],
  },
  'user.second_factor_disabled': {
    subject: 'user',
    about: 'A user removed their authenticator app or a passkey.',
    data: ['method', 'passkeyId?'],
  },
  'user.recovery_codes_replaced': { subject: 'user', about: 'A user generated new recovery codes.', data: [] },
  'user.recovery_code_used': {
    subject: 'user',
    about: 'A recovery code was used to sign in; `left` is the number of codes that remain.',
    data: ['left'],
  },
  'user.second_factor_guessed': {
    subject: 'user',
    about:
      'Too many wrong codes were entered after the correct password, so somebody else may know the password. At most once a day per account.',
    data: [],
  },
  'user.second_factor_reset': {
    subject: 'user',
    about:
      "A user's second factor was removed: by the operator, or by the first reset link that confirmed the e-mail address of the account. All sessions of the user were ended.",
    data: [],
  },
  'user.disabled': { subject: 'user', about: 'The operator disabled an account.', data: [] },
  'user.enabled': { subject: 'user', about: 'The operator enabled an account again.', data: [] },
  'user.erased': {
    subject: 'user',
    about:
      'A user was erased. `keys` says what happened to the keys they created, and `role` is the role they had in the store. Sent to every store that has data of theirs.',
    data: ['keys', 'role?'],
  },
  'session.created': { subject: 'sess', about: 'A user signed in.', data: [] },
  'session.ended': { subject: 'sess', about: 'A session was ended before it expired.', data: [] },
  'service_token.created': {
    subject: 'svc',
    about:
      'A service token was issued, by an owner for their store or by the operator. `storeIds: null` means all stores.',
    data: ['name', 'storeIds'],
  },
  'service_token.revoked': { subject: 'svc', about: 'A service token was revoked.', data: [] },
  'store.created': {
    subject: 'store',
    about: 'The store was created.',
    data: ['name', 'registration', 'leakGraceSeconds'],
  },
  'store.updated': { subject: 'store', about: 'The store was changed.', data: ['from', 'to'] },
  'store.deleted': { subject: 'store', about: 'The store was deleted.', data: [] },
  'store.restored': { subject: 'store', about: 'A deleted store was restored.', data: [] },
  'store.frozen': { subject: 'store', about: 'All keys of the store were frozen.', data: [] },
  'store.unfrozen': { subject: 'store', about: 'The keys of the store were unfrozen.', data: [] },
  'member.joined': {
    subject: 'user',
    about: 'A user joined the store, with an invitation or as a customer.',
    data: ['role', 'permissions', 'invitation?'],
  },
  'member.updated': {
    subject: 'user',
    about: 'The role or permissions of a member were changed.',
    data: ['from', 'to'],
  },
  'member.removed': {
    subject: 'user',
    about: 'A member was removed. `keys` says what happened to the keys they created.',
    data: ['role', 'keys'],
  },
  'member.left': { subject: 'user', about: 'A member left the store.', data: ['role'] },
  'member.invited': { subject: 'inv', about: 'An invitation was created.', data: ['role', 'permissions'] },
  'member.invitation_withdrawn': { subject: 'inv', about: 'An invitation was withdrawn.', data: [] },
  'key.created': {
    subject: 'key',
    about: 'A key was created or imported.',
    data: ['name', 'type', 'permissions', 'expiresAt', 'ipAllowlist', 'rateLimit', 'rateLimits', 'credits', 'imported'],
  },
  'key.updated': {
    subject: 'key',
    about:
      'A key was changed. `from` and `to` contain the fields that differ. Metadata and the owner are not included, only that they changed.',
    data: ['from', 'to', 'metadataChanged?', 'ownerChanged?'],
  },
  'key.enabled': { subject: 'key', about: 'A key was enabled.', data: [] },
  'key.disabled': { subject: 'key', about: 'A key was disabled.', data: [] },
  'key.rotated': {
    subject: 'key',
    about: 'A key got a new secret. The previous one keeps working until `previousExpiresAt`, unless that is `null`.',
    data: ['gracePeriodSeconds', 'previousExpiresAt'],
  },
  'key.credits_changed': {
    subject: 'key',
    about: 'Somebody set the credits of a key, or added some. Spending them is not an event.',
    data: ['from', 'to'],
  },
  'key.revoked': { subject: 'key', about: 'A key was revoked.', data: ['reason'] },
  'key.leaked': {
    subject: 'key',
    about: 'The secret of a key was reported as leaked. `action` says what happened to the key.',
    data: ['source', 'url?', 'action', 'expiresAt?'],
  },
  'key.expiring': { subject: 'key', about: 'A key expires in 30, 7 or 1 days.', data: ['expiresAt', 'days'] },
  'customer.created': {
    subject: 'user',
    about: 'A customer was created. `linked` says whether it is a user with an account of their own.',
    data: ['linked'],
  },
  'customer.updated': {
    subject: 'user',
    about: 'The details of a customer were changed. `changed` lists the fields.',
    data: ['changed'],
  },
  'customer.erased': {
    subject: 'user',
    about:
      'A customer was erased. A `linked` customer is only unlinked and keeps their account: also when they leave, are removed or get another role.',
    data: ['linked'],
  },
  'address.created': { subject: 'addr', about: 'A billing address was created.', data: ['country'] },
  'address.updated': {
    subject: 'addr',
    about: 'An address was changed. `changed` lists the fields. `newDefault` is the address that became the default.',
    data: ['changed', 'newDefault?'],
  },
  'address.deleted': {
    subject: 'addr',
    about: 'An address was deleted. `newDefault` is the address that became the default instead.',
    data: ['newDefault?'],
  },
  'address.held': {
    subject: 'addr',
    about: 'A version of an address was put on hold, or its hold was replaced.',
    data: ['version', 'until'],
  },
  'address.released': {
    subject: 'addr',
    about: 'A hold on a version was removed, or expired (then the actor is `system`).',
    data: ['version'],
  },
  'webhook.created': {
    subject: 'wh',
    about: 'A webhook was created. Only the host of its URL is included.',
    data: ['host', 'types', 'description'],
  },
  'webhook.updated': { subject: 'wh', about: 'A webhook was changed.', data: ['from', 'to', 'urlChanged?'] },
  'webhook.rotated': {
    subject: 'wh',
    about: 'A webhook got a new secret. The previous one also signs until `previousExpiresAt`, unless that is `null`.',
    data: ['gracePeriodSeconds', 'previousExpiresAt'],
  },
  'webhook.disabled': {
    subject: 'wh',
    about: 'A webhook was disabled. `reason` is `REQUESTED`, `GONE` (it responded with 410) or `FAILING` (for 5 days).',
    data: ['reason', 'failingSince?'],
  },
  'webhook.deleted': { subject: 'wh', about: 'A webhook was deleted.', data: ['host', 'types', 'description'] },
} as const satisfies Record<string, EventTypeRow>

export type EventType = keyof typeof EVENT_TYPES

/**
 * Accounts and sessions belong to no store: no trail has them, and no webhook hears of them, except that a user was erased.
 * Service tokens do when an owner has issued them.
 */
export const TYPES_IN_STORES = (Object.keys(EVENT_TYPES) as EventType[]).filter(
  (type) => type === 'user.erased' || !/^(user|session)\./.test(type),
)

const closed = { additionalProperties: false }

export const Event = Type.Object(
  {
    id: Id('evt', 'The id of the event.'),
    storeId: StoreId,
    type: Type.String({ description: 'What happened. New types may be added.', examples: ['key.created'] }),
    at: DateTime({ description: 'When it happened.' }),
    actor: Type.Object(
      {
        ...ActorOf(['user', 'key', 'service', 'system'], '').properties,
        credential: Nullable(
          Type.String({
            description: 'The credential that was used: the id of a session, or of the key or token itself.',
          }),
        ),
        ip: Nullable(Type.String({ description: 'The IP address the request came from.' })),
      },
      { ...closed, description: 'Who did it.' },
    ),
    subject: Type.String({ description: 'The id of what it happened to.' }),
    data: Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      additionalProperties: true,
      description: 'Details, depending on the type. Never a secret and never the text of an address.',
    }),
    position: Nullable(
      Type.Integer({
        description:
          "Its position in the store's chain, counted from 1. `null` until it is sealed, which takes at most 5 seconds.",
      }),
    ),
  },
  { title: 'Event', description: 'Something that happened in a store.', ...closed },
)
export type Event = Static<typeof Event>
export const Events = pageOf(Event, 'Events')

export const EventHead = Type.Object(
  {
    seq: Type.Integer({ description: 'The position of the last sealed event, which is the number of sealed events.' }),
    hash: Type.String({
      description:
        'SHA-256 of the last event and the hash before it, in hexadecimal. Keep a copy outside this service.',
    }),
    at: Nullable(DateTime({ description: 'When the last sealed event happened. `null`: there is none.' })),
  },
  { title: 'EventHead', description: 'The head of the hash chain of a store.', ...closed },
)

/** An event with its position in the chain. Outside a store `storeId` is null. */
export type SealedEvent = Omit<Event, 'storeId' | 'position'> & { storeId: string | null; seq: number }

/** The listeners of one store. `notifications` counts those received; `seen` is the end of the chain at the last poll. */
export type Channel = { storeId: string; streams: number; notifications: number; seen: number; wake: Set<() => void> }

export type FeedTimings = {
  /** Between two polls of the heads of all chains that are followed. */
  pollMs: number
  /** Between two authorization checks of an idle stream. */
  recheckMs: number
  /** Streams due within this time are checked in one batch. */
  batchMs: number
  /** A comment is sent at least this often: as soon as the next check would come too late for it. */
  heartbeatMs: number
}

/** The sealed events of every store as they come, one feed for each node: see stream.ts. */
export type EventFeed = {
  timings: FeedTimings
  join(storeId: string): Channel
  leave(channel: Channel): void
  /** `isBehind`: more than a page may be missing. What nobody waits for any more, because it has closed, is not read. */
  read(channel: Channel, after: number, isBehind: boolean, closing: AbortSignal): Promise<SealedEvent[]>
  close(): void
}

/** Asks again whether the listener of a stream may hear of events; `unknown` while the database is away. */
export type AuthorizationProbe = () => Promise<'yes' | 'no' | 'unknown'>
