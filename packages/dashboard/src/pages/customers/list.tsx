import { Anchor, Button, Group, Stack, Table, Text, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import type { Customer } from '@storekeeper/client'
import { Search, Upload, UserPlus } from 'lucide-react'
import { useState } from 'react'
import { Link, useParams } from 'wouter'
import { useRead } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { paths } from '../../app/paths.ts'
import { AllowedButton, AllowedLink } from '../../components/allowed.tsx'
import { Empty } from '../../components/empty.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { Time } from '../../components/time.tsx'
import { texts } from '../../texts.ts'
import { AddDialog } from './add-dialog.tsx'

const AT_ONCE = 100

export default function CustomersPage() {
  const { storeId = '' } = useParams()
  const [adding, setAdding] = useState(false)
  const add = (
    <AllowedButton
      storeId={storeId}
      permission="MANAGE_CUSTOMERS"
      leftSection={<UserPlus size={16} aria-hidden />}
      onClick={() => setAdding(true)}
    >
      {texts.customers.add}
    </AllowedButton>
  )
  return (
    <Page
      title={texts.nav.customers}
      about={texts.customers.about}
      actions={
        <>
          <AllowedLink
            storeId={storeId}
            permission="MANAGE_CUSTOMERS"
            variant="default"
            href={paths.importCustomers(storeId)}
            leftSection={<Upload size={16} aria-hidden />}
          >
            {texts.customers.import}
          </AllowedLink>
          {add}
        </>
      }
    >
      <Customers storeId={storeId} />
      {adding && <AddDialog storeId={storeId} onClose={() => setAdding(false)} />}
    </Page>
  )
}

function Customers({ storeId }: { storeId: string }) {
  const [text, setText] = useState('')
  const [max, setMax] = useState(AT_ONCE)
  const [q] = useDebouncedValue(text.trim(), 250)
  const customers = useRead(['customers', storeId, q, max], (options) =>
    sk
      .store(storeId)
      .customers.list(q ? { q } : {}, options)
      .toArray({ max: max + 1 }),
  )
  return (
    <Stack>
      <TextInput
        leftSection={<Search size={16} aria-hidden />}
        placeholder={texts.customers.search}
        aria-label={texts.customers.search}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <Loaded query={customers}>
        {(found) =>
          found.length > 0 ? (
            <>
              <CustomerTable storeId={storeId} customers={found.slice(0, max)} />
              {found.length > max && (
                <Group>
                  <Button variant="default" onClick={() => setMax(max + AT_ONCE)}>
                    {texts.customers.more}
                  </Button>
                </Group>
              )}
            </>
          ) : q ? (
            <Text c="dimmed" role="status">
              {texts.customers.nobody}
            </Text>
          ) : (
            <Empty title={texts.customers.none}>{texts.customers.noneHelp}</Empty>
          )
        }
      </Loaded>
    </Stack>
  )
}

function CustomerTable({ storeId, customers }: { storeId: string; customers: Customer[] }) {
  return (
    <div className="rows">
      <Table verticalSpacing="sm" className="stacks">
        <Table.Thead>
          <Table.Tr>
            {texts.customers.columns.map((column) => (
              <Table.Th key={column}>{column}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {customers.map(({ id, externalId, name, email, createdAt }) => (
            <Table.Tr key={id}>
              <Table.Td>
                <Anchor component={Link} href={paths.customer(storeId, externalId)} fw={600} className="breaks">
                  {name ?? externalId}
                </Anchor>
                {name && (
                  <Text size="sm" c="dimmed" className="breaks">
                    {externalId}
                  </Text>
                )}
              </Table.Td>
              <Table.Td className="breaks">{email}</Table.Td>
              <Table.Td>
                <Time at={createdAt} as="day" />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  )
}
