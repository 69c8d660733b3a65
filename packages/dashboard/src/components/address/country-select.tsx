// The country, found by any of its names. Behind it is a plain select, which browsers know how to fill in.

import { Group, Select, Text } from '@mantine/core'
import type { CountrySummary } from '@storekeeper/client'
import { type ReactNode, useMemo, useState } from 'react'
import { texts } from '../../texts.ts'
import { searchCountries } from './countries.ts'

type Props = {
  countries: CountrySummary[]
  value: string
  onChange: (code: string) => void
  error: ReactNode
  /** Whether the browser may fill in the address of whoever sits before it. */
  autofill: boolean
}

export function CountrySelect({ countries, value, onChange, error, autofill }: Props) {
  const options = useMemo(() => optionsOf(countries), [countries])
  // Made once: there are 250 of them, and the form is drawn at each key press.
  const plain = useMemo(
    () =>
      options.map(({ value: code, label }) => (
        <option key={code} value={code}>
          {label}
        </option>
      )),
    [options],
  )
  const [hasFocus, setFocus] = useState(false)
  const known = useMemo(() => new Map(countries.map((country) => [country.code, country])), [countries])
  return (
    <div className="autofilled">
      <Select
        searchable
        withAsterisk
        allowDeselect={false}
        autoComplete="off"
        label={texts.addresses.country}
        description={texts.addresses.countryHelp}
        data={options}
        value={value || null}
        onChange={(code) => code && onChange(code)}
        filter={({ search }) => {
          // With the name of the chosen one in the field nothing is being searched.
          const searched = known.get(value)?.name === search ? '' : search
          return searched === '' ? options : optionsOf(searchCountries(countries, searched))
        }}
        nothingFoundMessage={texts.addresses.noCountry}
        maxDropdownHeight={320}
        // In the page before it opens, since it opens at the chosen one; otherwise not, or it is drawn at each key press.
        comboboxProps={{ keepMounted: hasFocus }}
        onFocus={(event) => {
          setFocus(true)
          event.currentTarget.select()
        }}
        onBlur={() => setFocus(false)}
        renderOption={({ option }) => (
          <Group justify="space-between" gap="0 md" flex={1}>
            <Text size="sm">{option.label}</Text>
            <Text size="sm" c="dimmed" className="breaks">
              {localNames(known.get(option.value))}
            </Text>
          </Group>
        )}
        error={error}
      />
      {autofill && (
        <select
          className="autofill"
          name="country"
          autoComplete="billing country"
          tabIndex={-1}
          aria-hidden
          value={value}
          onChange={(event) => onChange(event.currentTarget.value)}
        >
          <option value="" />
          {plain}
        </select>
      )}
    </div>
  )
}

function optionsOf(countries: readonly CountrySummary[]) {
  return countries.map(({ code, name }) => ({ value: code, label: name }))
}

/** Those that say more than the English name does. */
function localNames(country: CountrySummary | undefined): string {
  return (country?.localNames ?? []).filter((name) => name !== country?.name).join(', ')
}
