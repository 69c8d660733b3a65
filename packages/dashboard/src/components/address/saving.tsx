// Saving an address: the draft that is kept meanwhile, faults at their fields, and what somebody else has changed.

import { Alert, Button, Group, Text } from '@mantine/core'
import { type Address, isStorekeeperError } from '@storekeeper/client'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { useWrite } from '../../app/api.ts'
import { withSession } from '../../app/client.ts'
import { texts } from '../../texts.ts'
import { Conflict } from '../conflict.tsx'
import { useServiceForm } from '../form.ts'
import type { AddressBook } from './book.ts'
import { regionOfBrowser } from './countries.ts'
import { drafts } from './draft.ts'
import { type AddressValues, EMPTY, toChanges, toNewAddress, toValues } from './values.ts'

export function useSaving(book: AddressBook, given: Address | null, onSaved: () => void) {
  const addressId = given?.id ?? null
  const [draft, setDraft] = useState(() => drafts.read(book, addressId))
  // The record that the form was filled from. One that is read later must not take its place.
  const [base, setBase] = useState(draft?.base ?? given)
  const [theirs, setTheirs] = useState<Address | null>(null)
  const [problem, setProblem] = useState<unknown>(null)
  const [initialValues] = useState(() => (base ? toValues(base) : { ...EMPTY, country: regionOfBrowser() }))
  const form = useServiceForm<AddressValues>({ initialValues, keepsDraft: true })
  const values = form.getValues()
  const filled = useRef(false)
  useEffect(() => {
    if (!filled.current && draft) form.setValues(draft.values)
    else if (form.isDirty()) drafts.write(book, addressId, { ...draft, values, base })
    else drafts.remove(book, addressId)
    filled.current = true
  })
  // After the drawing in which the faults stand at their fields.
  const [refusals, setRefusals] = useState(0)
  useEffect(() => {
    if (refusals > 0) document.querySelector<HTMLElement>('form [aria-invalid=true]')?.focus()
  }, [refusals])
  const write = useWrite(
    ({ record, values }: { record: Address | null; values: AddressValues }, { idempotencyKey }) =>
      record
        ? book.update(record.id, toChanges(values, record), { ifMatch: record })
        : book.create(toNewAddress(values), { idempotencyKey }),
    { changes: [book.key] },
  )
  const send = async (record: Address | null) => {
    setProblem(null)
    try {
      await write.mutateAsync({ record, values: form.getValues() })
      form.resetDirty()
      drafts.remove(book, addressId)
      onSaved()
    } catch (error) {
      if (isStorekeeperError(error, 'precondition_failed') && record)
        await withSession(() => book.read(record.id)).then(setTheirs, setProblem)
      else if (form.showFaults(error)) setRefusals((count) => count + 1)
      else setProblem(error)
    }
  }
  const discard = () => {
    drafts.remove(book, addressId)
    setDraft(undefined)
    form.reset()
  }
  return {
    form,
    isSaving: write.isPending,
    problem: isStorekeeperError(problem, 'address_not_found') && base ? null : problem,
    save: () => send(base),
    notice: draft && <DraftNotice version={draft.version} onDiscard={discard} />,
    gone: isStorekeeperError(problem, 'address_not_found') && base && <Gone onSaveAsNew={() => void send(null)} />,
    conflict: theirs && base && (
      <Conflict
        before={toValues(base)}
        theirs={toValues(theirs)}
        mine={values}
        names={texts.addresses.fields}
        onTakeTheirs={() => {
          setBase(theirs)
          setTheirs(null)
          form.setValues(toValues(theirs))
          form.resetDirty(toValues(theirs))
          drafts.remove(book, addressId)
        }}
        onKeepMine={() => {
          setBase(theirs)
          setTheirs(null)
          void send(theirs)
        }}
      />
    ),
  }
}

function DraftNotice({ version, onDiscard }: { version: number | undefined; onDiscard: () => void }): ReactNode {
  return (
    <Alert color="blue" role="status">
      <Group justify="space-between">
        <Text size="sm">{version === undefined ? texts.addresses.draft : texts.addresses.draftOf(version)}</Text>
        <Button size="xs" variant="default" onClick={onDiscard}>
          {texts.addresses.discard}
        </Button>
      </Group>
    </Alert>
  )
}

function Gone({ onSaveAsNew }: { onSaveAsNew: () => void }): ReactNode {
  return (
    <Alert color="yellow">
      <Group justify="space-between">
        <Text size="sm">{texts.addresses.gone}</Text>
        <Button size="xs" onClick={onSaveAsNew}>
          {texts.addresses.saveAsNew}
        </Button>
      </Group>
    </Alert>
  )
}
