// When a message is tried again. The ten steps are those that Standard Webhooks publishes: about 75 hours in all.

import { addMs, DAY, HOUR, MINUTE, SECOND } from '../core/clock.ts'

/** The wait before each try, from the one before; the first is made at once. */
const STEPS_MS = [
  0,
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
]
/** Each wait is up to a tenth longer, so that messages that failed together are not tried again together. */
const JITTER = 0.1
const MAX_RETRY_AFTER_MS = DAY

/** After this long without a single success a webhook is switched off. */
export const FAILING_MS = 5 * DAY

/** When to try again after `attempts` tries, or null after the last. `Retry-After` may put it off, by a day at most. */
export function nextTry(attempts: number, at: Date, retryAfter: string | null, random: number): Date | null {
  const step = STEPS_MS[attempts]
  if (step === undefined) return null
  const asked = Math.min(parseRetryAfter(retryAfter, at), MAX_RETRY_AFTER_MS)
  return addMs(at, Math.max(step * (1 + JITTER * random), asked))
}

/** Seconds, or a date (RFC 9110, 10.2.3); anything else is ignored. */
function parseRetryAfter(text: string | null, at: Date): number {
  if (text === null) return 0
  if (/^\d+$/.test(text)) return Number(text) * SECOND
  const moment = HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(moment) ? 0 : Math.max(0, moment - at.getTime())
}

/** `Sun, 06 Nov 1994 08:49:37 GMT`: the one form that senders may still generate. */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/
