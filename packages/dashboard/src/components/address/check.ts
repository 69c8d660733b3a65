// What the service says of an address while it is being typed. It is asked when somebody pauses, an older question ends
// when there is a newer one, and a fault is shown once its field has been left. While a button of the mouse is down nothing is
// said anew: a line that appears moves what is below it, and whoever is clicking there would miss it.

import { useDebouncedValue, useWindowEvent } from '@mantine/hooks'
import type { CheckedAddress } from '@storekeeper/client'
import { useEffect, useRef, useState } from 'react'
import { useRead } from '../../app/api.ts'
import { texts } from '../../texts.ts'
import type { AddressBook } from './book.ts'
import { type AddressValues, type Field, toNewAddress } from './values.ts'

const PAUSE_MS = 300

type Warning = CheckedAddress['warnings'][number]
/** What is said of one field. */
export type Notes = {
  fault: { detail: string; suggestion?: string | undefined } | null
  warnings: Warning[]
  /** As it will be saved, where that is not what was typed. */
  normal: string | null
}

type Answer = { values: AddressValues; checked: CheckedAddress }

export function useCheck(book: AddressBook, values: AddressValues, left: ReadonlySet<Field>) {
  const [asked] = useDebouncedValue(values, PAUSE_MS)
  const { data } = useRead(
    ['check', ...book.key, asked],
    async (options): Promise<Answer> => ({
      values: asked,
      checked: await book.validate(toNewAddress(asked), options),
    }),
    { enabled: asked.country !== '' },
  )
  // The last answer stays until there is a newer one, so that nothing flickers.
  const last = useRef<Answer | undefined>(undefined)
  if (data) last.current = data
  const shown = useStillWhilePressed({ answer: last.current, left })
  return {
    formatted: last.current?.checked.preview?.formatted ?? [],
    notesOf: (field: Field): Notes => (shown.answer ? notesOf(shown.answer, values, shown.left, field) : NOTHING),
  }
}

/** The value from before a button of the mouse was pressed, or a finger put down, until it has become a click. */
function useStillWhilePressed<T>(value: T): T {
  const [isPressed, setPressed] = useState(false)
  // The click comes after the release, before the next task.
  const release = () => setTimeout(() => setPressed(false))
  useWindowEvent('pointerdown', () => setPressed(true), true)
  useWindowEvent('pointerup', release, true)
  useWindowEvent('pointercancel', release, true)
  const shown = useRef(value)
  if (!isPressed) shown.current = value
  return shown.current
}

const NOTHING: Notes = { fault: null, warnings: [], normal: null }
/** Of these one is enough, so none is missing until all of them have been left. */
const NAMES: readonly Field[] = ['firstName', 'lastName', 'company']

function notesOf(
  { values: then, checked }: Answer,
  values: AddressValues,
  left: ReadonlySet<Field>,
  field: Field,
): Notes {
  // What was said of another country, or of another text, says nothing any more.
  if (then.country !== values.country || then[field] !== values[field]) return NOTHING
  const isAbout = ({ pointer }: { pointer: string }) => pointer === `#/${field}`
  const fault = checked.errors.find(isAbout)
  const isDue = fault?.code === 'name_required' ? NAMES.every((name) => left.has(name)) : left.has(field)
  const typed = values[field].trim()
  const normal = checked.preview?.address[field] ?? null
  return {
    fault: fault && isDue ? fault : null,
    warnings: left.has(field) ? checked.warnings.filter(isAbout) : [],
    normal: fault || field === 'country' || typed === '' || typed === normal ? null : (normal ?? texts.app.nothing),
  }
}

/** The fields that were left, and the way to leave one. */
export function useLeft(all: readonly Field[]): [ReadonlySet<Field>, (field: Field) => void] {
  const [left, setLeft] = useState<ReadonlySet<Field>>(() => new Set(all))
  return [left, (field) => setLeft((before) => (before.has(field) ? before : new Set([...before, field])))]
}

/** Calls back once with each country whose rules have come, after the first. */
export function useChangeOf<T extends { code: string }>(current: T | undefined, changed: (now: T) => void): void {
  const before = useRef(current)
  useEffect(() => {
    if (!current || current.code === before.current?.code) return
    const isFirst = before.current === undefined
    before.current = current
    if (!isFirst) changed(current)
  })
}
