// What the schema of a webhook cannot check: its URL leads to the public internet, and its types are types of events.

import { DAY } from '../core/clock.ts'
import type { Fault } from '../core/errors.ts'
import { TYPES_IN_STORES } from '../events/schema.ts'
import type { Instance } from '../instance.ts'
import { parseDateTime } from '../schema/fields.ts'
import type { NewWebhook, WebhookChanges } from './schema.ts'
import { parseWebhookUrl } from './url-guard.ts'

export type WebhookSpec = { url: string; types: string[]; description: string | null }
export type WebhookPatch = Partial<WebhookSpec> & { enabled?: boolean }

export function parseNewWebhook(body: Partial<NewWebhook>, instance: Instance, faults: Fault[]): WebhookSpec {
  const { url, types = [], description = null } = body
  return {
    url: url === undefined ? '' : parseWebhookUrl(url, instance.webhooks.allowPrivate, faults),
    types: parseTypes(types, faults),
    description,
  }
}

export function parseWebhookChanges(body: WebhookChanges, instance: Instance, faults: Fault[]): WebhookPatch {
  const { url, types, description, enabled } = body
  return {
    ...(url === undefined ? {} : { url: parseWebhookUrl(url, instance.webhooks.allowPrivate, faults) }),
    ...(types === undefined ? {} : { types: parseTypes(types, faults) }),
    ...(description === undefined ? {} : { description }),
    ...(enabled === undefined ? {} : { enabled }),
  }
}

const KNOWN_TYPES = new Set(['*', ...TYPES_IN_STORES.flatMap((type) => [type, type.replace(/\..*/, '.*')])])

function parseTypes(types: string[], faults: Fault[]): string[] {
  types.forEach((type, i) => {
    if (!KNOWN_TYPES.has(type))
      faults.push({
        pointer: `#/types/${i}`,
        code: 'unknown_type',
        detail: 'Unknown event type. Use a type, a prefix followed by ".*", or "*".',
        example: 'key.*',
      })
  })
  return types
}

export type Span = { from: Date; to: Date }
const MAX_SPAN_MS = 31 * DAY

export function parseSpan(body: { from?: string; to?: string }, _instance: Instance, faults: Fault[]): Span {
  const [from, to] = [body.from, body.to].map((text) => (text && parseDateTime(text)) || new Date(0)) as [Date, Date]
  if (body.from !== undefined && body.to !== undefined) {
    if (from >= to) faults.push({ pointer: '#/from', code: 'not_before', detail: 'This must be before "to".' })
    else if (to.getTime() - from.getTime() > MAX_SPAN_MS)
      faults.push({ pointer: '#/from', code: 'too_far', detail: 'This can be at most 31 days before "to".' })
  }
  return { from, to }
}
