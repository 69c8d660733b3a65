// One field of an address: under its country's own label, with what the service says of it.

import { Button, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import type { Country, CountryField } from '@storekeeper/client'
import { TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { texts } from '../../texts.ts'
import type { Notes } from './check.ts'
import { findState } from './countries.ts'
import type { Field } from './values.ts'

/** As browsers know them: see "autofill" in HTML. */
const TOKENS: Record<Field, string> = {
  country: 'country',
  firstName: 'given-name',
  lastName: 'family-name',
  company: 'organization',
  addressLine1: 'address-line1',
  addressLine2: 'address-line2',
  city: 'address-level2',
  state: 'address-level1',
  postalCode: 'postal-code',
  phone: 'tel',
  taxId: '',
}

type Props = {
  field: CountryField & { name: Field }
  country: Country
  value: string
  error: ReactNode
  notes: Notes
  autofill: boolean
  onChange: (value: string) => void
  onLeave: () => void
}

export function AddressField({ field, country, value, error, notes, autofill, onChange, onLeave }: Props) {
  const { name, label, required, example } = field
  const token = TOKENS[name]
  const input = {
    name,
    label,
    withAsterisk: required,
    'aria-required': required,
    autoComplete: autofill && token ? `billing ${token}` : 'off',
    value,
    error: error ?? notes.fault?.detail,
    onBlur: onLeave,
    onChange: (event: { currentTarget: { value: string } }) => onChange(event.currentTarget.value),
    description: hasMarks(notes) && <Marks notes={notes} />,
    inputWrapperOrder: ['label', 'input', 'error', 'description'] as ('label' | 'input' | 'error' | 'description')[],
  }
  const suggestion = notes.fault?.suggestion ?? notes.warnings.find((warning) => warning.suggestion)?.suggestion
  return (
    <Stack gap={4} className={`address-field address-${name}`}>
      {name === 'state' && country.onlyListedStates && country.subdivisions.length > 0 ? (
        <NativeSelect {...input} data={stateOptions(country, label)} />
      ) : (
        <TextInput
          {...input}
          type={name === 'phone' ? 'tel' : 'text'}
          placeholder={name === 'state' ? undefined : example}
          list={name === 'state' && country.subdivisions.length > 0 ? 'states' : undefined}
        />
      )}
      {name === 'state' && !country.onlyListedStates && (
        <datalist id="states">
          {country.subdivisions.map((state) => (
            <option key={state.code} value={state.name} />
          ))}
        </datalist>
      )}
      {suggestion && (
        <Group>
          <Button size="xs" variant="light" color="yellow" onClick={() => onChange(suggestion)}>
            {texts.addresses.useSuggestion(findState(country, suggestion)?.name ?? suggestion)}
          </Button>
        </Group>
      )}
    </Stack>
  )
}

function stateOptions({ subdivisions }: Country, label: string) {
  return [
    { value: '', label: texts.addresses.chooseState(label) },
    ...subdivisions.map(({ code, name, localName }) => ({
      value: code,
      label: localName ? `${name} (${localName})` : name,
    })),
  ]
}

const hasMarks = ({ normal, warnings }: Notes) => normal !== null || warnings.length > 0

/** Warnings, and what will be saved where that differs. Neither is in the way. */
function Marks({ notes: { normal, warnings } }: { notes: Notes }) {
  return (
    <Stack gap={2} component="span">
      {normal !== null && (
        <Text size="xs" span className="breaks">
          {texts.addresses.normalized(normal)}
        </Text>
      )}
      {warnings.map(({ code, detail }) => (
        <Group
          key={code}
          gap={4}
          component="span"
          wrap="nowrap"
          align="flex-start"
          c="var(--mantine-color-yellow-light-color)"
        >
          <TriangleAlert size={14} aria-hidden className="keeps-size" />
          <Text size="xs" span>
            {detail}
          </Text>
        </Group>
      ))}
    </Stack>
  )
}
