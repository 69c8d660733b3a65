// A moment, in words and in the reader's own time zone; the exact one, with UTC, is in the tooltip.

import { Tooltip } from '@mantine/core'
import { texts } from '../texts.ts'

const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 365 * 86_400],
  ['month', 30 * 86_400],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
]
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const local = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })
const utc = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium', timeZone: 'UTC' })
const day = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium' })

/** "3 hours ago", "in 2 days". */
export function fromNow(at: string | Date, now = Date.now()): string {
  const seconds = (new Date(at).getTime() - now) / 1000
  if (Math.abs(seconds) < 10) return texts.app.now
  const [unit, length] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? ['second', 1]
  return relative.format(Math.round(seconds / length), unit)
}

export function exactTime(at: string | Date): string {
  return `${localTime(at)} (${utcTime(at)})`
}

export function localTime(at: string | Date): string {
  return local.format(new Date(at))
}

export function utcTime(at: string | Date): string {
  return `${utc.format(new Date(at))} UTC`
}

function dayOf(at: string | Date): string {
  return day.format(new Date(at))
}

/** `as="exact"` where the moment itself matters. */
export function Time({ at, as = 'relative' }: { at: string | null | undefined; as?: 'relative' | 'exact' | 'day' }) {
  if (!at) return <>{texts.app.never}</>
  const shown = { relative: fromNow, exact: localTime, day: dayOf }[as](at)
  return (
    <Tooltip label={exactTime(at)} events={{ hover: true, focus: true, touch: true }}>
      <time dateTime={at}>{shown}</time>
    </Tooltip>
  )
}
