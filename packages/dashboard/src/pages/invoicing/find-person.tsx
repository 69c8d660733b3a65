// Finds whose invoice it is, among members and customers at once, or by an id that stands on an invoice.

import { Group, NavLink, Paper, Stack, Text, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { isStorekeeperError } from '@storekeeper/client'
import { Boxes, Search, User } from 'lucide-react'
import { useState } from 'react'
import { useRead } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { findSome } from '../../app/found-page.ts'
import { Loaded } from '../../components/loaded.tsx'
import { texts } from '../../texts.ts'

type Found = { userId: string; name: string; about: string[]; kind: 'member' | 'customer' }

const MAX_FOUND = 20

export function FindPerson({ storeId, onFound }: { storeId: string; onFound: (userId: string) => void }) {
  const [text, setText] = useState('')
  const [q] = useDebouncedValue(text.trim(), 250)
  const people = useRead(['people', storeId, 'search', q], (options) => findPeople(storeId, q, options))
  return (
    <Stack maw={640}>
      <TextInput
        label={texts.invoicing.find}
        description={texts.invoicing.findHelp}
        leftSection={<Search size={16} aria-hidden />}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <Loaded query={people}>
        {(found) =>
          found.length === 0 ? (
            <Text c="dimmed" role="status">
              {texts.invoicing.nobody}
            </Text>
          ) : (
            <Paper withBorder component="nav" aria-label={texts.invoicing.found}>
              {found.map(({ userId, name, about, kind }) => (
                <NavLink
                  key={`${kind} ${userId}`}
                  component="button"
                  type="button"
                  label={name}
                  description={about.map((fact) => (
                    <span key={fact} className="fact breaks">
                      {fact}
                    </span>
                  ))}
                  leftSection={kind === 'customer' ? <Boxes size={18} aria-hidden /> : <User size={18} aria-hidden />}
                  rightSection={
                    <Group gap={4}>
                      <Text size="xs" c="dimmed">
                        {texts.invoicing[kind]}
                      </Text>
                    </Group>
                  }
                  onClick={() => onFound(userId)}
                />
              ))}
            </Paper>
          )
        }
      </Loaded>
    </Stack>
  )
}

type Options = { signal?: AbortSignal | undefined }

async function findPeople(storeId: string, q: string, options: Options): Promise<Found[]> {
  const store = sk.store(storeId)
  if (q.startsWith('addr_')) {
    const address = await store.invoicing.read(q, {}, options).catch((error) => {
      if (isStorekeeperError(error, 'address_not_found')) return null
      throw error
    })
    if (!address) return []
    const { userId, formatted } = address
    return [{ userId, name: formatted[0] ?? userId, about: [userId], kind: 'customer' }]
  }
  const asked = q === '' ? {} : { q }
  const byId = /^user_\w+$/.test(q)
  const [members, customers] = await Promise.all([
    byId ? [] : findSome(store.members.list(asked, options), MAX_FOUND),
    store.customers.list(byId ? { id: q } : asked, options).toArray({ max: MAX_FOUND }),
  ])
  const found: Found[] = [
    ...customers.map(({ id, name, email, externalId }) => ({
      userId: id,
      name: name ?? externalId,
      about: [externalId, ...(email ? [email] : [])],
      kind: 'customer' as const,
    })),
    ...members.map(({ userId, name, email }) => ({
      userId,
      name: name ?? email ?? userId,
      about: name ? [email ?? userId] : [],
      kind: 'member' as const,
    })),
  ]
  // Whoever was erased, or has left, is found by nothing but their id.
  return byId && found.length === 0
    ? [{ userId: q, name: texts.invoicing.unknownUser, about: [q], kind: 'member' }]
    : found
}
