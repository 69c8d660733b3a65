// A form of Mantine whose faults come from the service: the service knows every rule, and says which field it means.

import { type UseFormInput, type UseFormReturnType, useForm } from '@mantine/form'
import { isStorekeeperError } from '@storekeeper/client'
import { useUnsaved } from '../app/unsaved.ts'

/** `showFaults` puts each fault at its field, and returns whether all of them have one. */
export type ServiceForm<Values> = UseFormReturnType<Values> & { showFaults(error: unknown): boolean }

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
      const placed = faults.map(({ pointer, detail }) => [fieldOf(pointer), detail] as const)
      form.setErrors(Object.fromEntries(placed))
      const values = form.getValues()
      return faults.length > 0 && placed.every(([field]) => (field.split('.')[0] as string) in values)
    },
  })
}

/** `#/rateLimits/0/limit` → `rateLimits.0.limit`, as Mantine names a field. */
function fieldOf(pointer: string): string {
  return pointer
    .replace(/^#\//, '')
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join('.')
}
