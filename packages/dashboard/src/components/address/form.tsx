// The form of an address, for one's own and for those of customers: the country first, then its own fields in its own
// order. A change of country keeps all that was typed.

import { Button, Checkbox, Grid, Group, Paper, Skeleton, Stack, Text, Title } from '@mantine/core'
import type { Address, Country, CountryField } from '@storekeeper/client'
import { useRef, useState } from 'react'
import { Link } from 'wouter'
import { texts } from '../../texts.ts'
import type { ServiceForm } from '../form.ts'
import { Loaded } from '../loaded.tsx'
import { Problem } from '../problem.tsx'
import type { AddressBook } from './book.ts'
import { MayChange } from './cards.tsx'
import { useChangeOf, useCheck, useLeft } from './check.ts'
import { findState, useCountries, useCountry } from './countries.ts'
import { CountrySelect } from './country-select.tsx'
import { AddressField } from './field.tsx'
import { Label } from './label.tsx'
import { useSaving } from './saving.tsx'
import { type AddressValues, FIELDS, type Field, isField } from './values.ts'

type Props = { book: AddressBook; base: Address | null; onSaved: () => void }

export function AddressForm({ book, base, onSaved }: Props) {
  const { form, save, notice, conflict, gone, problem, isSaving } = useSaving(book, base, onSaved)
  const values = form.getValues()
  // An address that exists has been filled in: whatever is wrong with it can be said at once.
  const [left, leave] = useLeft(base ? FIELDS : [])
  const { formatted, notesOf } = useCheck(book, values, left)
  const countries = useCountries()
  const rules = useRules(values.country)
  const cleared = useStateOfCountry(form, rules.country)
  const autofill = book.externalId === null
  return (
    <form noValidate onSubmit={form.onSubmit(() => void save())}>
      <Grid gap="xl">
        <Grid.Col span={{ base: 12, md: 7 }}>
          <Stack gap="md">
            {notice}
            <div>
              <Loaded query={countries} skeleton={<Skeleton height={60} />}>
                {(all) => (
                  <CountrySelect
                    countries={all}
                    value={values.country}
                    autofill={autofill}
                    error={form.errors.country}
                    onChange={(code) => {
                      form.clearErrors()
                      form.setFieldValue('country', code)
                    }}
                  />
                )}
              </Loaded>
              <Text size="sm" role="status">
                {cleared && rules.country && texts.addresses.stateCleared(cleared, rules.country.name)}
              </Text>
            </div>
            {rules.error && <Problem error={rules.error} />}
            {rules.country && (
              <div className="address-fields">
                {fieldsOf(rules.country, form).map((field) => (
                  <AddressField
                    key={field.name}
                    field={field}
                    country={rules.country as Country}
                    value={values[field.name]}
                    error={form.errors[field.name]}
                    notes={notesOf(field.name)}
                    autofill={autofill}
                    onChange={(value) => form.setFieldValue(field.name, value)}
                    onLeave={() => leave(field.name)}
                  />
                ))}
              </div>
            )}
            <Checkbox
              label={texts.addresses.isDefault}
              description={base?.isDefault ? texts.addresses.isDefaultHelp : undefined}
              disabled={base?.isDefault}
              {...form.getInputProps('isDefault', { type: 'checkbox' })}
            />
            {conflict}
            {gone}
            {problem !== null && <Problem error={problem} />}
            <Buttons book={book} isSaving={isSaving} />
          </Stack>
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 5 }}>
          <LabelPanel lines={formatted} />
        </Grid.Col>
      </Grid>
    </form>
  )
}

function Buttons({ book, isSaving }: { book: AddressBook; isSaving: boolean }) {
  return (
    <Group>
      <MayChange book={book} type="submit" loading={isSaving}>
        {texts.addresses.save}
      </MayChange>
      <Button component={Link} href={book.paths.list} variant="default">
        {texts.app.cancel}
      </Button>
    </Group>
  )
}

function LabelPanel({ lines }: { lines: readonly string[] }) {
  return (
    <Paper withBorder p="md" className="label-panel">
      <Title order={2} size="h5">
        {texts.addresses.label}
      </Title>
      <Text size="sm" c="dimmed" mb="sm">
        {lines.length > 1 ? texts.addresses.labelHelp : texts.addresses.labelEmpty}
      </Text>
      <Label lines={lines} />
    </Paper>
  )
}

/** The rules of the country, and those of the one before while they are being read, so that no field is lost meanwhile. */
function useRules(code: string) {
  const { data, error } = useCountry(code)
  const last = useRef<Country | undefined>(undefined)
  if (data) last.current = data
  return { country: last.current, error }
}

/**
 * When the country changes, the state is looked for in the new one, and only cleared when there is none of that name;
 * coming back brings it back. Returns the one that was cleared.
 */
function useStateOfCountry(form: ServiceForm<AddressValues>, country: Country | undefined): string | null {
  const [cleared, setCleared] = useState<string | null>(null)
  const typed = useRef('')
  useChangeOf(country, (now) => {
    const text = form.getValues().state || typed.current
    const found = findState(now, text)
    typed.current = found ? '' : text
    form.setFieldValue('state', found?.code ?? '')
    setCleared(found || text === '' ? null : text)
  })
  return cleared
}

/** Those of the country; and any other that holds a text or has a fault, since what is sent is also shown. */
function fieldsOf(country: Country, form: ServiceForm<AddressValues>): (CountryField & { name: Field })[] {
  const own = country.fields.filter((field): field is CountryField & { name: Field } => isField(field.name))
  const values = form.getValues()
  const others = FIELDS.filter((name) => !own.some((field) => field.name === name))
    .filter((name) => values[name] !== '' || form.errors[name] || document.activeElement?.getAttribute('name') === name)
    .map((name) => ({ name, label: texts.addresses.fields[name], required: false }))
  return [...own.filter(({ name }) => name !== 'country'), ...others]
}
