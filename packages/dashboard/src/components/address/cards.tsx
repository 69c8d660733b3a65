// The addresses of somebody, the default first: each as its label, with what can be done with it.

import { Badge, Button, Card, Group, SimpleGrid, Stack, Text } from '@mantine/core'
import type { Address } from '@storekeeper/client'
import { History, Pencil, Plus, Star, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { useRead, useWrite } from '../../app/api.ts'
import { texts } from '../../texts.ts'
import { AllowedButton, AllowedLink } from '../allowed.tsx'
import { DangerActions } from '../danger-actions.tsx'
import { Dialog } from '../dialog.tsx'
import { Empty } from '../empty.tsx'
import { Loaded } from '../loaded.tsx'
import { Problem } from '../problem.tsx'
import type { AddressBook } from './book.ts'
import { Label } from './label.tsx'

export function AddressCards({ book }: { book: AddressBook }) {
  const addresses = useRead(book.key, book.list)
  const [deleting, setDeleting] = useState<Address | null>(null)
  const { none, noneHelp } = texts.addresses
  const { noAddress, noAddressHelp } = texts.customers
  const isOwn = book.externalId === null
  return (
    <Loaded query={addresses}>
      {(all) =>
        all.length === 0 ? (
          <Empty title={isOwn ? none : noAddress} action={<NewAddressLink book={book} />}>
            {isOwn ? noneHelp : noAddressHelp}
          </Empty>
        ) : (
          <>
            <SimpleGrid cols={{ base: 1, sm: 2, xl: 3 }}>
              {all.map((address) => (
                <AddressCard key={address.id} book={book} address={address} onDelete={() => setDeleting(address)} />
              ))}
            </SimpleGrid>
            {deleting && <DeleteDialog book={book} addressId={deleting.id} onClose={() => setDeleting(null)} />}
          </>
        )
      }
    </Loaded>
  )
}

/** Above the addresses. Where there is none, the list itself shows the way to the first. */
export function NewAddressAbove({ book }: { book: AddressBook }) {
  const isEmpty = useRead(book.key, book.list).data?.length === 0
  return isEmpty ? null : <NewAddressLink book={book} />
}

/** One's own addresses need no permission; those of customers do. */
function NewAddressLink({ book }: { book: AddressBook }) {
  const leftSection = <Plus size={16} aria-hidden />
  return book.externalId === null ? (
    <Button component={Link} href={book.paths.new} leftSection={leftSection}>
      {texts.addresses.create}
    </Button>
  ) : (
    <AllowedLink storeId={book.storeId} permission="MANAGE_CUSTOMERS" href={book.paths.new} leftSection={leftSection}>
      {texts.addresses.create}
    </AllowedLink>
  )
}

type CardProps = { book: AddressBook; address: Address; onDelete: () => void }

function AddressCard({ book, address, onDelete }: CardProps) {
  const { id, isDefault, formatted } = address
  const makeDefault = useWrite(() => book.update(id, { isDefault: true }, {}), { changes: [book.key] })
  const small = { size: 'xs', variant: 'default' } as const
  // Without a name of their own, the buttons of all cards would sound the same.
  const named = (action: string) => `${action}: ${formatted[0] ?? id}`
  const setDefault = { ...small, loading: makeDefault.isPending, onClick: () => makeDefault.mutate(undefined) }
  const leftSection = <Star size={14} aria-hidden />
  return (
    <Card withBorder component="article" aria-label={formatted[0]}>
      <Stack gap="sm" h="100%">
        {isDefault && (
          <Badge variant="light" leftSection={<Star size={12} aria-hidden />}>
            {texts.addresses.default}
          </Badge>
        )}
        <Label lines={formatted} />
        <AddressDetails address={address} />
        {makeDefault.error && <Problem error={makeDefault.error} />}
        <Group gap="xs" mt="auto">
          <Button
            {...small}
            component={Link}
            href={book.paths.address(id)}
            leftSection={<Pencil size={14} aria-hidden />}
            aria-label={named(texts.addresses.edit)}
          >
            {texts.addresses.edit}
          </Button>
          <Button
            {...small}
            component={Link}
            href={book.paths.versions(id)}
            leftSection={<History size={14} aria-hidden />}
            aria-label={named(texts.addresses.versions)}
          >
            {texts.addresses.versions}
          </Button>
          {!isDefault && (
            <MayChange
              book={book}
              {...setDefault}
              leftSection={leftSection}
              aria-label={named(texts.addresses.makeDefault)}
            >
              {texts.addresses.makeDefault}
            </MayChange>
          )}
          <MayChange
            book={book}
            size="xs"
            variant="subtle"
            color="red"
            leftSection={<Trash2 size={14} aria-hidden />}
            onClick={onDelete}
            aria-label={named(texts.addresses.delete)}
          >
            {texts.addresses.delete}
          </MayChange>
        </Group>
      </Stack>
    </Card>
  )
}

/** What the label does not show. */
function AddressDetails({ address: { taxId, phone, warnings } }: { address: Address }) {
  const told = [['taxId', taxId] as const, ['phone', phone] as const]
  return (
    <>
      {told.map(
        ([field, value]) =>
          value && (
            <Text key={field} size="sm" c="dimmed" className="breaks">
              {texts.addresses.fields[field]}: {value}
            </Text>
          ),
      )}
      {warnings.map(({ code, pointer, detail }) => (
        <Text key={code + pointer} size="sm" c="var(--mantine-color-yellow-light-color)">
          {detail}
        </Text>
      ))}
    </>
  )
}

type ButtonProps = Omit<Parameters<typeof AllowedButton>[0], 'storeId' | 'permission'> & { book: AddressBook }

/** A button for what changes an address. */
export function MayChange({ book, ...button }: ButtonProps) {
  if (book.externalId === null) return <Button {...button} />
  return <AllowedButton storeId={book.storeId} permission="MANAGE_CUSTOMERS" {...button} />
}

/** Reads the address again, so that what is deleted is what was shown. */
function DeleteDialog({ book, addressId, onClose }: { book: AddressBook; addressId: string; onClose: () => void }) {
  // Under a key of its own: what is deleted is not read again with the others.
  const address = useRead(['address to delete', addressId], (options) => book.read(addressId, options))
  const remove = useWrite((record: Address) => book.delete(addressId, { ifMatch: record }), { changes: [book.key] })
  return (
    <Dialog opened onClose={onClose} title={texts.addresses.deleteAsk}>
      <Loaded query={address}>
        {(record) => (
          <Stack>
            <Label lines={record.formatted} />
            <Text size="sm">{texts.addresses.deleteHelp}</Text>
            <DangerActions
              write={remove}
              label={texts.addresses.delete}
              retry={() => void address.refetch()}
              onCancel={onClose}
              onConfirm={() => remove.mutate(record, { onSuccess: onClose })}
            />
          </Stack>
        )}
      </Loaded>
    </Dialog>
  )
}
