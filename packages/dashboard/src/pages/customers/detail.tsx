// A customer: their addresses, what the store calls them, the export of all that is held about them, and erasing them.

import { Button, Group, Stack, Tabs, Text, TextInput } from '@mantine/core'
import type { Customer } from '@storekeeper/client'
import { Download, ReceiptText } from 'lucide-react'
import { useState } from 'react'
import { Link, useParams } from 'wouter'
import { useRead, useWrite } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { paths } from '../../app/paths.ts'
import { addressesOf, useExternalId } from '../../components/address/book.ts'
import { AddressCards, NewAddressAbove } from '../../components/address/cards.tsx'
import { AllowedButton } from '../../components/allowed.tsx'
import { useServiceForm } from '../../components/form.ts'
import { Loaded } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { Problem } from '../../components/problem.tsx'
import { texts } from '../../texts.ts'
import { EraseCustomer } from './erase.tsx'
import { useExport } from './export.ts'

export default function CustomerPage() {
  const { storeId = '' } = useParams()
  const externalId = useExternalId() ?? ''
  const customer = useRead(['customers', storeId, 'one', externalId], (options) =>
    sk.store(storeId).customers.read(externalId, options),
  )
  return (
    <Loaded query={customer}>
      {(read) => (
        <Page
          title={read.name ?? read.externalId}
          about={<span className="breaks">{[read.externalId, read.email].filter(Boolean).join(' · ')}</span>}
          actions={<Actions storeId={storeId} customer={read} />}
        >
          <Tabs defaultValue="addresses" keepMounted={false}>
            <Tabs.List mb="lg">
              {Object.entries(texts.customers.detailTabs).map(([value, label]) => (
                <Tabs.Tab key={value} value={value}>
                  {label}
                </Tabs.Tab>
              ))}
            </Tabs.List>
            <Tabs.Panel value="addresses">
              <Addresses storeId={storeId} externalId={externalId} />
            </Tabs.Panel>
            <Tabs.Panel value="details">
              <Details storeId={storeId} customer={read} />
            </Tabs.Panel>
            <Tabs.Panel value="erase">
              <EraseCustomer storeId={storeId} customer={read} />
            </Tabs.Panel>
          </Tabs>
        </Page>
      )}
    </Loaded>
  )
}

function Actions({ storeId, customer: { id, externalId } }: { storeId: string; customer: Customer }) {
  const { start, isPending, error } = useExport(storeId, externalId)
  return (
    <Stack gap="xs">
      <Group>
        <Button
          component={Link}
          href={paths.invoicing(storeId, { userId: id })}
          variant="default"
          leftSection={<ReceiptText size={16} aria-hidden />}
        >
          {texts.customers.invoicing}
        </Button>
        <Button variant="default" leftSection={<Download size={16} aria-hidden />} loading={isPending} onClick={start}>
          {texts.customers.export}
        </Button>
      </Group>
      {error && <Problem error={error} retry={start} />}
    </Stack>
  )
}

function Addresses({ storeId, externalId }: { storeId: string; externalId: string }) {
  const book = addressesOf(storeId, externalId)
  return (
    <Stack>
      <Group justify="flex-end">
        <NewAddressAbove book={book} />
      </Group>
      <AddressCards book={book} />
    </Stack>
  )
}

function Details({ storeId, customer }: { storeId: string; customer: Customer }) {
  const { externalId } = customer
  const [problem, setProblem] = useState<unknown>(null)
  const form = useServiceForm({ initialValues: { name: customer.name ?? '', email: customer.email ?? '' } })
  const save = useWrite(
    ({ name, email }: { name: string; email: string }) =>
      sk.store(storeId).customers.put(externalId, { name: name.trim() || null, email: email.trim() || null }),
    { changes: [['customers', storeId]] },
  )
  const send = async (values: { name: string; email: string }) => {
    setProblem(null)
    try {
      await save.mutateAsync(values)
      form.resetDirty()
    } catch (error) {
      if (!form.showFaults(error)) setProblem(error)
    }
  }
  return (
    <form noValidate onSubmit={form.onSubmit((values) => void send(values))}>
      <Stack maw={480}>
        <TextInput label={texts.customers.name} autoComplete="off" {...form.getInputProps('name')} />
        <TextInput type="email" label={texts.customers.email} autoComplete="off" {...form.getInputProps('email')} />
        {problem !== null && <Problem error={problem} />}
        <Group>
          <AllowedButton
            storeId={storeId}
            permission="MANAGE_CUSTOMERS"
            type="submit"
            disabled={!form.isDirty()}
            loading={save.isPending}
          >
            {texts.app.save}
          </AllowedButton>
          <Text size="sm" role="status">
            {save.isSuccess && !form.isDirty() && texts.customers.saved}
          </Text>
        </Group>
      </Stack>
    </form>
  )
}
