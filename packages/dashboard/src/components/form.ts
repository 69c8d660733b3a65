// A form of Mantine whose faults come from the service: the service knows every rule, and says which field it means.

import { type UseFormInput, type UseFormReturnType, useForm } from '@mantine/form'
import { isStorekeeperError } from '@storekeeper/client'
import { useUnsaved } from '../app/unsaved.ts'

/**
 * `showFaults` puts each fault at its field, brings the first of them into view, and returns whether all of them have a
 * field. Those that have none are the caller's to show.
 */
export type ServiceForm<Values> = UseFormReturnType<Values> & { showFaults(error: unknown): boolean }

/** How long a part of a form takes to open. */
const OPENING_MS = 250

/** `keepsDraft`: whoever comes back to the form finds what they typed, so that a link need not ask. */
export function useServiceForm<Values extends Record<string, unknown>>({
  keepsDraft = false,
  ...input
}: UseFormInput<Values> & { keepsDraft?: boolean }): ServiceForm<Values> {
  const form = useForm<Values>({ mode: 'controlled', ...input })
  useUnsaved(form.isDirty(), { keepsDraft })
  return Object.assign(form, {
    showFaults(error: unknown): boolean {
      const faults = (isStorekeeperError(error) && error.errors) || []
      const values = form.getValues()
      const placed = faults.flatMap(({ pointer, detail }) => {
        const field = fieldOf(pointer, values)
        return field === null ? [] : [[field, detail] as const]
      })
      form.setErrors(Object.fromEntries(placed))
      if (placed.length > 0) showFirstFault()
      return faults.length > 0 && placed.length === faults.length
    },
  })
}

/**
 * `#/rateLimits/0/limit` → `rateLimits.0.limit`, as Mantine names a field. A fault within what is one field of the form, such
 * as a line of a text or one of several ticks, is that field's. Null when the form has no such field.
 */
function fieldOf(pointer: string, values: Record<string, unknown>): string | null {
  const parts = pointer
    .replace(/^#\//, '')
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  const path: string[] = []
  let at: unknown = values
  for (const part of parts) {
    if (!isGroup(at)) break
    if (!(part in at)) return null
    path.push(part)
    at = (at as Record<string, unknown>)[part]
  }
  return isGroup(at) ? null : path.join('.')
}

/** Fields, or a list of groups of fields. A list of texts is one field. */
function isGroup(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !(Array.isArray(value) && typeof value[0] !== 'object')
}

/** Once it is drawn, and the part that it is in has opened. */
function showFirstFault(): void {
  setTimeout(() => {
    const first = document.querySelector<HTMLElement>('form [aria-invalid=true], form [role=alert]')
    first?.scrollIntoView({ block: 'center' })
    first?.focus({ preventScroll: true })
  }, OPENING_MS)
}
