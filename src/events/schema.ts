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
  'user.created': { subject: 'user', about: 'Somebody has an account.', data: [] },
  'user.password_changed': { subject: 'user', about: 'A user changed their password.', data: [] },
  'user.password_reset': {
    subject: 'user',
    about: 'A forgotten password was replaced by means of a one-time link. Every session has ended.',
    data: [],
  },
  'user.reset_issued': {
    subject: 'user',
    about: 'The operator was given a one-time link for a new password.',
    data: [],
  },
  'user.updated': {
    subject: 'user',
    about: 'A user changed their name, e-mail or mails, or their identity provider did: `changed` names which.',
    data: ['changed'],
  },
  'user.email_confirmed': {
    subject: 'user',
    about: 'A user confirmed their e-mail, which is perhaps a new one.',
    data: [],
  },
  'user.email_lost': {
    subject: 'user',
    about: 'An account lost an e-mail that it had never confirmed: another account has confirmed it.',
    data: [],
  },
  'user.provider_linked': {
    subject: 'user',
    about:
      'An account was joined with a user of the identity provider, because both have confirmed the same e-mail: from now on the user can sign in with either.',
    data: ['issuer'],
  },
  'user.second_factor_enabled': {
    subject: 'user',
    about:
      'A user set up an authenticator app or added a passkey: `method` is `totp` or `passkey`. With the first of them every other session has ended.',
    data: ['method', 'passkeyId?'],
  },
  'user.second_factor_disabled': {
    subject: 'user',
    about: 'A user removed their authenticator app or a passkey.',
    data: ['method', 'passkeyId?'],
  },
  'user.recovery_codes_replaced': { subject: 'user', about: 'A user made new recovery codes.', data: [] },
  'user.recovery_code_used': {
    subject: 'user',
    about: 'Somebody signed in with a recovery code; `left` is how many there still are.',
    data: ['left'],
  },
  'user.second_factor_guessed': {
    subject: 'user',
    about:
      'Too many wrong codes followed a right password: somebody else may know it. At most once a day for each account.',
    data: [],
  },
  'user.second_factor_reset': {
    subject: 'user',
    about: "The operator removed a user's second factor. Every session has ended.",
    data: [],
  },
  'user.disabled': { subject: 'user', about: 'The operator has switched an account off.', data: [] },
  'user.enabled': { subject: 'user', about: 'The operator has switched an account on again.', data: [] },
  'user.erased': {
    subject: 'user',
    about:
      'A user was erased; `keys` says what became of the keys they made, and `role` what they were in the store. Every store that keeps something of theirs is told.',
    data: ['keys', 'role?'],
  },
  'session.created': { subject: 'sess', about: 'A user signed in.', data: [] },
  'session.ended': { subject: 'sess', about: 'A session was ended before its time.', data: [] },
  'service_token.created': {
    subject: 'svc',
    about:
      'A service token was issued, by an owner for their store or by the operator; `storeIds: null` is all stores.',
    data: ['name', 'storeIds'],
  },
  'service_token.revoked': { subject: 'svc', about: 'A service token was revoked.', data: [] },
  'store.created': {
    subject: 'store',
    about: 'The store was made.',
    data: ['name', 'registration', 'leakGraceSeconds'],
  },
  'store.updated': { subject: 'store', about: 'The store was changed.', data: ['from', 'to'] },
  'store.deleted': { subject: 'store', about: 'The store was deleted.', data: [] },
  'store.restored': { subject: 'store', about: 'A deleted store was restored.', data: [] },
  'store.frozen': { subject: 'store', about: 'Every key of the store was frozen.', data: [] },
  'store.unfrozen': { subject: 'store', about: 'The keys work again.', data: [] },
  'member.joined': {
    subject: 'user',
    about: 'Somebody has a part in the store, by an invitation or as a customer.',
    data: ['role', 'permissions', 'invitation?'],
  },
  'member.updated': { subject: 'user', about: 'What a member may do was changed.', data: ['from', 'to'] },
  'member.removed': {
    subject: 'user',
    about: 'A member was removed; `keys` says what became of the keys they made.',
    data: ['role', 'keys'],
  },
  'member.left': { subject: 'user', about: 'A member left.', data: ['role'] },
  'member.invited': { subject: 'inv', about: 'Somebody was invited.', data: ['role', 'permissions'] },
  'member.invitation_withdrawn': { subject: 'inv', about: 'An invitation was withdrawn.', data: [] },
  'key.created': {
    subject: 'key',
    about: 'A key was made, or imported.',
    data: ['name', 'type', 'permissions', 'expiresAt', 'ipAllowlist', 'rateLimit', 'rateLimits', 'credits', 'imported'],
  },
  'key.updated': {
    subject: 'key',
    about:
      'A key was changed: `from` and `to` hold what differs. Of metadata and of the owner, only that they changed.',
    data: ['from', 'to', 'metadataChanged?', 'ownerChanged?'],
  },
  'key.enabled': { subject: 'key', about: 'A key was switched on.', data: [] },
  'key.disabled': { subject: 'key', about: 'A key was switched off.', data: [] },
  'key.rotated': {
    subject: 'key',
    about: 'A key has a new secret; the one before works on until `previousExpiresAt`, if there is one.',
    data: ['gracePeriodSeconds', 'previousExpiresAt'],
  },
  'key.credits_changed': {
    subject: 'key',
    about: 'Somebody has set the credits of a key, or added some. What verifications spend is no event.',
    data: ['from', 'to'],
  },
  'key.revoked': { subject: 'key', about: 'A key was revoked.', data: ['reason'] },
  'key.leaked': {
    subject: 'key',
    about: 'The secret of a key was found where it should not be; `action` is what became of the key.',
    data: ['source', 'url?', 'action', 'expiresAt?'],
  },
  'key.expiring': { subject: 'key', about: 'A key ends in 30, 7 or 1 days.', data: ['expiresAt', 'days'] },
  'customer.created': {
    subject: 'user',
    about: 'The store has a new customer; `linked` says whether it is a user with an account of their own.',
    data: ['linked'],
  },
  'customer.updated': {
    subject: 'user',
    about: 'What the store says of a customer was changed: `changed` names the fields.',
    data: ['changed'],
  },
  'customer.erased': {
    subject: 'user',
    about: 'A customer was erased. One who was `linked` is only unlinked: their account is their own.',
    data: ['linked'],
  },
  'address.created': { subject: 'addr', about: 'A user has a new billing address.', data: ['country'] },
  'address.updated': {
    subject: 'addr',
    about: 'An address was changed: `changed` names the fields. `newDefault` is the one that became the default.',
    data: ['changed', 'newDefault?'],
  },
  'address.deleted': {
    subject: 'addr',
    about: 'An address was deleted; `newDefault` is the one that became the default instead.',
    data: ['newDefault?'],
  },
  'address.held': {
    subject: 'addr',
    about: 'A version of an address was put on hold, or its hold was replaced.',
    data: ['version', 'until'],
  },
  'address.released': {
    subject: 'addr',
    about: 'The hold of a version was ended, or its end has come (by `system`).',
    data: ['version'],
  },
  'webhook.created': {
    subject: 'wh',
    about: 'The store has a new webhook. Of its URL only the host is told.',
    data: ['host', 'types', 'description'],
  },
  'webhook.updated': { subject: 'wh', about: 'A webhook was changed.', data: ['from', 'to', 'urlChanged?'] },
  'webhook.rotated': {
    subject: 'wh',
    about: 'A webhook has a new secret; the one before signs too until `previousExpiresAt`, if there is one.',
    data: ['gracePeriodSeconds', 'previousExpiresAt'],
  },
  'webhook.disabled': {
    subject: 'wh',
    about: 'A webhook was switched off: `REQUESTED`, `GONE` (it answered 410) or `FAILING` (for 5 days).',
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
  read(storeId: string, after: number): Promise<SealedEvent[]>
  close(): void
}

/** Asks again whether the listener of a stream may hear of events; `unknown` while the database is away. */
export type AuthorizationProbe = () => Promise<'yes' | 'no' | 'unknown'>
