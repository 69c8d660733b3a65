// The form of a key: as people fill it in, and as the API takes it.

import type { Key, NewKey } from '@storekeeper/client'
import { texts } from '../../texts.ts'

export const KEY_TYPES = Object.entries(texts.keys.types).map(([value, label]) => ({ value, label }))

type LimitValues = { name: string; limit: number | ''; windowSeconds: number | ''; shared: boolean }
export type KeyValues = {
  name: string
  type: NewKey['type']
  permissions: string[]
  description: string
  /** Local time of the browser, as `datetime-local` gives it; empty for no end. */
  expiresAt: string
  /** One address or range a line. */
  ipAllowlist: string
  owner: string
  rateLimit: { limit: number | ''; windowSeconds: number | '' }
  rateLimits: LimitValues[]
  credits: {
    remaining: number | ''
    amount: number | ''
    interval: '' | 'HOUR' | 'DAY' | 'MONTH'
    dayOfMonth: number | ''
  }
}

export const EMPTY: KeyValues = {
  name: '',
  type: 'TEST',
  permissions: [],
  description: '',
  expiresAt: '',
  ipAllowlist: '',
  owner: '',
  rateLimit: { limit: '', windowSeconds: 60 },
  rateLimits: [],
  credits: { remaining: '', amount: '', interval: '', dayOfMonth: '' },
}

/** As the API takes it. What was left empty is left out. */
export function toNewKey(values: KeyValues): NewKey {
  const { name, type, permissions, description, expiresAt, owner, rateLimits } = values
  return {
    name: name.trim(),
    type,
    permissions,
    ...(description.trim() ? { metadata: { description: description.trim() } } : {}),
    ...(expiresAt ? { expiresAt: new Date(expiresAt).toISOString() } : {}),
    ...(values.ipAllowlist.trim() ? { ipAllowlist: linesOf(values.ipAllowlist) } : {}),
    ...(owner.trim() ? { owner: owner.trim() } : {}),
    ...(values.rateLimit.limit === '' ? {} : { rateLimit: toRateLimit(values) }),
    ...(rateLimits.length ? { rateLimits: toRateLimits(rateLimits) } : {}),
    ...(values.credits.remaining === '' ? {} : { credits: toCredits(values) }),
  }
}

/**
 * What was changed in a form that was filled from the record, `null` for what was taken away. Only that is sent: what
 * somebody else changed meanwhile, and credits that were spent, stay as they are.
 */
export function toChanges(values: KeyValues, record: Key) {
  const [before, after] = [settingsOf(toValues(record), record), settingsOf(values, record)]
  const isChanged = ([name, value]: [string, unknown]) =>
    JSON.stringify(value) !== JSON.stringify(before[name as keyof typeof before])
  return Object.fromEntries(Object.entries(after).filter(isChanged)) as Partial<typeof after>
}

function settingsOf(values: KeyValues, { metadata }: Key) {
  const { type: _, ...input } = toNewKey(values)
  const { description: __, ...others } = metadata
  return {
    ...input,
    metadata: { ...others, ...input.metadata },
    expiresAt: input.expiresAt ?? null,
    ipAllowlist: input.ipAllowlist ?? null,
    owner: input.owner ?? null,
    rateLimit: input.rateLimit ?? null,
    rateLimits: input.rateLimits ?? [],
    credits: input.credits ?? null,
  }
}

export function toValues(key: Key): KeyValues {
  const { name, type, permissions, expiresAt, ipAllowlist, owner, rateLimit, rateLimits, credits, metadata } = key
  return {
    name,
    type: type as KeyValues['type'],
    permissions: [...permissions],
    description: typeof metadata.description === 'string' ? metadata.description : '',
    expiresAt: expiresAt ? toLocalInput(new Date(expiresAt)) : '',
    ipAllowlist: (ipAllowlist ?? []).join('\n'),
    owner: owner ?? '',
    rateLimit: rateLimit ?? EMPTY.rateLimit,
    rateLimits: rateLimits.map(({ shared, ...limit }) => ({ ...limit, shared: shared === 'owner' })),
    credits: {
      remaining: credits?.remaining ?? '',
      amount: credits?.refill?.amount ?? '',
      interval: (credits?.refill?.interval ?? '') as KeyValues['credits']['interval'],
      dayOfMonth: credits?.refill?.dayOfMonth ?? '',
    },
  }
}

/** Whether an address of a page, or a `datetime-local` field, names a moment. */
export const isMoment = (text: string): boolean => /^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(Date.parse(text))

/** The value of a `datetime-local` field for a moment, in the browser's own time zone. */
export function toLocalInput(at: Date): string {
  const local = new Date(at.getTime() - at.getTimezoneOffset() * 60_000)
  return local.toISOString().slice(0, 16)
}

function linesOf(text: string): string[] {
  return text
    .split(/[\s,]+/)
    .map((line) => line.trim())
    .filter(Boolean)
}

const toRateLimit = ({ rateLimit: { limit, windowSeconds } }: KeyValues) => ({
  limit: Number(limit),
  windowSeconds: Number(windowSeconds),
})

const toRateLimits = (limits: LimitValues[]) =>
  limits.map(({ name, limit, windowSeconds, shared }) => ({
    name: name.trim(),
    limit: Number(limit),
    windowSeconds: Number(windowSeconds),
    ...(shared ? { shared: 'owner' as const } : {}),
  }))

function toCredits({ credits: { remaining, amount, interval, dayOfMonth } }: KeyValues) {
  const refill =
    interval === '' || amount === ''
      ? null
      : {
          amount: Number(amount),
          interval,
          ...(interval === 'MONTH' && dayOfMonth !== '' ? { dayOfMonth: Number(dayOfMonth) } : {}),
        }
  return { remaining: Number(remaining), refill }
}
