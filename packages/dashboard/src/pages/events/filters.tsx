// The filters of the events. They stand in the address of the page, so that a link shows the same events.

import { Button, NativeSelect, Select, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useSearchParams } from 'wouter'
import { texts } from '../../texts.ts'
import { isMoment, toLocalInput } from '../keys/key-form.ts'
import type { Named, Names } from './names.ts'
import type { Filters } from './trail.ts'

const FIELDS = ['type', 'subject', 'actor', 'from', 'to'] as const
const ID = /^[a-z]+_[0-9a-z]{20,40}$/

export function useFilters(): [Filters, (change: Filters) => void] {
  const [params, setParams] = useSearchParams()
  const filters: Filters = {}
  for (const field of FIELDS) {
    const value = params.get(field)
    if (value) filters[field] = value
  }
  const change = (values: Filters) =>
    setParams((now) => {
      for (const [name, value] of Object.entries(values))
        if (value) now.set(name, value)
        else now.delete(name)
      return now
    })
  return [filters, change]
}

type Props = { filters: Filters; change: (change: Filters) => void; names: Names }

export function EventFilters({ filters, change, names }: Props) {
  const { type = '', from = '', to = '' } = filters
  const known: Record<string, string> = texts.events.types
  const types = [
    { value: '', label: texts.events.allTypes },
    ...Object.entries(known).map(([value, label]) => ({ value, label })),
    ...(type && !(type in known) ? [{ value: type, label: type }] : []),
  ]
  const moment = (name: 'from' | 'to', value: string) =>
    change({ [name]: isMoment(value) ? new Date(value).toISOString() : '' })
  return (
    <div className="filters">
      <NativeSelect
        label={texts.events.type}
        data={types}
        value={type}
        onChange={(event) => change({ type: event.currentTarget.value })}
      />
      <NameSelect
        label={texts.events.subject}
        placeholder={texts.events.anything}
        value={filters.subject}
        names={names.all}
        onChange={(subject) => change({ subject })}
      />
      <NameSelect
        label={texts.events.actor}
        placeholder={texts.events.anybody}
        value={filters.actor}
        names={names.all.filter(({ group }) => group === 'members' || group === 'keys' || group === 'serviceTokens')}
        onChange={(actor) => change({ actor })}
      />
      {(['from', 'to'] as const).map((name) => (
        <TextInput
          key={name}
          className="filter-moment"
          type="datetime-local"
          label={texts.events[name]}
          value={localInput(name === 'from' ? from : to)}
          onChange={(event) => moment(name, event.currentTarget.value)}
        />
      ))}
      {Object.keys(filters).length > 0 && (
        <Button
          variant="subtle"
          onClick={() => change(Object.fromEntries(FIELDS.map((field) => [field, ''])) as Filters)}
        >
          {texts.events.clear}
        </Button>
      )}
    </div>
  )
}

function localInput(at: string): string {
  return isMoment(at) ? toLocalInput(new Date(at)) : ''
}

type NameSelectProps = {
  label: string
  placeholder: string
  value: string | undefined
  names: Named[]
  onChange: (id: string) => void
}

/** By name; whoever has an id types that. */
function NameSelect({ label, placeholder, value, names, onChange }: NameSelectProps) {
  const [search, setSearch] = useState('')
  const typed = [value ?? '', search.trim()].filter((id) => ID.test(id) && !names.some((named) => named.id === id))
  const all: Named[] = [...names, ...[...new Set(typed)].map((id) => ({ id, name: id, group: 'id' as const }))]
  const groups = [...new Set(all.map(({ group }) => group))]
  return (
    <Select
      label={label}
      placeholder={placeholder}
      searchable
      clearable
      clearButtonProps={{ 'aria-label': texts.events.clear }}
      value={value ?? null}
      searchValue={search}
      onSearchChange={setSearch}
      onChange={(id) => onChange(id ?? '')}
      data={groups.map((group) => ({
        group: texts.events.groups[group],
        items: all.filter((one) => one.group === group).map(({ id, name }) => ({ value: id, label: name })),
      }))}
    />
  )
}
