// Which address belongs on an invoice: whose, at which moment, and the reference that the invoice keeps.

import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { X } from 'lucide-react'
import { useState } from 'react'
import { useLocation, useParams, useSearch } from 'wouter'
import { useRead } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { paths } from '../../app/paths.ts'
import { Loaded } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { texts } from '../../texts.ts'
import { isMoment, toLocalInput } from '../keys/key-form.ts'
import { AddressesAt } from './addresses-at.tsx'
import { FindPerson } from './find-person.tsx'

export default function InvoicingPage() {
  const { storeId = '' } = useParams()
  const search = new URLSearchParams(useSearch())
  const [, navigate] = useLocation()
  const userId = search.get('user') ?? ''
  const given = search.get('at') ?? ''
  const at = isMoment(given) ? given : ''
  const show = (asked: { userId?: string; at?: string }) => navigate(paths.invoicing(storeId, asked), { replace: true })
  return (
    <Page title={texts.nav.invoicing} about={texts.invoicing.about}>
      {userId === '' ? (
        <FindPerson storeId={storeId} onFound={(found) => navigate(paths.invoicing(storeId, { userId: found }))} />
      ) : (
        <Stack gap="lg">
          <Group align="flex-end">
            <Moment at={at} onChange={(moment) => show({ userId, at: moment })} />
            <Button
              variant="subtle"
              leftSection={<X size={16} aria-hidden />}
              onClick={() => navigate(paths.invoicing(storeId))}
            >
              {texts.invoicing.choose}
            </Button>
          </Group>
          <Person storeId={storeId} userId={userId} />
          <AddressesAt storeId={storeId} userId={userId} at={at} />
        </Stack>
      )}
    </Page>
  )
}

/** A moment in the reader's own time, kept in the address of the page in UTC. */
function Moment({ at, onChange }: { at: string; onChange: (at: string) => void }) {
  const [text, setText] = useState(at ? toLocalInput(new Date(at)) : '')
  return (
    <>
      <TextInput
        type="datetime-local"
        label={texts.invoicing.at}
        description={texts.invoicing.atHelp}
        max={toLocalInput(new Date())}
        value={text}
        onChange={(event) => {
          const { value } = event.currentTarget
          setText(value)
          onChange(isMoment(value) ? new Date(value).toISOString() : '')
        }}
      />
      <Button
        variant="default"
        disabled={at === ''}
        onClick={() => {
          setText('')
          onChange('')
        }}
      >
        {texts.invoicing.now}
      </Button>
    </>
  )
}

/** Whoever it is: a customer, a member, or nobody that this store knows any more. */
function Person({ storeId, userId }: { storeId: string; userId: string }) {
  const person = useRead(['people', storeId, userId], async (options) => {
    const [customer] = await sk.store(storeId).customers.list({ id: userId }, options).toArray({ max: 1 })
    if (customer) return { name: customer.name ?? customer.externalId, about: customer.email ?? customer.externalId }
    const member = await sk
      .store(storeId)
      .members.read(userId, options)
      .catch(() => null)
    return member && { name: member.name ?? member.email ?? userId, about: member.email ?? '' }
  })
  return (
    <Loaded query={person}>
      {(known) => (
        <div>
          <Text fw={600} size="lg">
            {known?.name ?? texts.invoicing.unknownUser}
          </Text>
          <Text size="sm" c="dimmed" className="breaks">
            {[known?.about, userId].filter(Boolean).join(' · ')}
          </Text>
        </div>
      )}
    </Loaded>
  )
}
