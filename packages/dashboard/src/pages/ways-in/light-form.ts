// A form of the ways in: what was typed, and the faults that the service found, each at its field.

import { isStorekeeperError } from '@storekeeper/client'
import { type ChangeEvent, useEffect, useState } from 'react'

export function useLightForm<Name extends string>(initial: Record<Name, string>) {
  const [values, setValues] = useState(initial)
  const [faults, setFaults] = useState<Partial<Record<Name, string>>>({})
  const [error, setError] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const [refusals, setRefusals] = useState(0)
  // The work goes on in the first field with a fault.
  useEffect(() => {
    if (refusals > 0) document.querySelector<HTMLElement>('form [aria-invalid=true]')?.focus()
  }, [refusals])
  return {
    /** What belongs to no field. */
    error,
    busy,
    field: (name: Name) => ({
      value: values[name],
      error: faults[name],
      onChange: ({ currentTarget: { value } }: ChangeEvent<HTMLInputElement>) => {
        setValues({ ...values, [name]: value })
        // What was said of another text says nothing of this one.
        setFaults({ ...faults, [name]: undefined })
      },
    }),
    async submit(send: (values: Record<Name, string>) => Promise<unknown>): Promise<void> {
      setBusy(true)
      setError(null)
      setFaults({})
      try {
        await send(values)
      } catch (failure) {
        const found = (isStorekeeperError(failure) && failure.errors) || []
        const placed = found.map(({ pointer, detail }) => [pointer.replace(/^#\//, ''), detail] as const)
        setFaults(Object.fromEntries(placed) as Partial<Record<Name, string>>)
        setRefusals((before) => before + 1)
        if (placed.length === 0 || placed.some(([name]) => !(name in values))) setError(failure)
      } finally {
        setBusy(false)
      }
    },
  }
}

export type LightField = ReturnType<ReturnType<typeof useLightForm>['field']>
