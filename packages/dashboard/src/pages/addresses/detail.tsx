// One address: its form, and its versions.

import { Stack, Tabs, Text } from '@mantine/core'
import type { Address, AddressVersion } from '@storekeeper/client'
import { useLocation, useParams } from 'wouter'
import { useRead } from '../../app/api.ts'
import { type AddressBook, useAddressBook } from '../../components/address/book.ts'
import { MayChange } from '../../components/address/cards.tsx'
import { drafts } from '../../components/address/draft.ts'
import { AddressForm } from '../../components/address/form.tsx'
import { HoldButton } from '../../components/address/hold.tsx'
import { VersionTimeline } from '../../components/address/timeline.tsx'
import { toValues } from '../../components/address/values.ts'
import { Loaded } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { texts } from '../../texts.ts'

export default function AddressPage() {
  const book = useAddressBook()
  const [, navigate] = useLocation()
  const { addressId = '', tab = 'edit' } = useParams()
  const address = useRead([...book.key, addressId], (options) => book.read(addressId, options))
  return (
    <Page
      title={texts.addresses.editTitle}
      about={book.externalId === null ? undefined : texts.addresses.addressOf(book.externalId)}
    >
      <Loaded query={address}>
        {(read) => (
          <Tabs
            value={tab}
            onChange={(to) =>
              navigate(to === 'versions' ? book.paths.versions(addressId) : book.paths.address(addressId))
            }
            keepMounted={false}
          >
            <Tabs.List mb="lg">
              <Tabs.Tab value="edit">{texts.addresses.tabs.edit}</Tabs.Tab>
              <Tabs.Tab value="versions">{texts.addresses.tabs.versions}</Tabs.Tab>
            </Tabs.List>
            <Tabs.Panel value="edit">
              <AddressForm book={book} base={read} onSaved={() => navigate(book.paths.list)} />
            </Tabs.Panel>
            <Tabs.Panel value="versions">
              <Versions book={book} address={read} />
            </Tabs.Panel>
          </Tabs>
        )}
      </Loaded>
    </Page>
  )
}

function Versions({ book, address }: { book: AddressBook; address: Address }) {
  const [, navigate] = useLocation()
  const versions = useRead([...book.key, address.id, 'versions'], (options) => book.versions(address.id, options))
  const useAgain = ({ version, address: content }: AddressVersion) => {
    const values = { ...toValues(content), isDefault: address.isDefault }
    drafts.write(book, address.id, { values, base: address, version })
    navigate(book.paths.address(address.id))
  }
  return (
    <Stack>
      <Text c="dimmed">{texts.addresses.versionsHelp}</Text>
      <Loaded query={versions}>
        {(all) => (
          <VersionTimeline
            versions={all}
            path={book.paths.versions(address.id)}
            actions={(version) => (
              <>
                {version !== all[0] && !version.address.erased && (
                  <MayChange book={book} size="xs" variant="default" onClick={() => useAgain(version)}>
                    {texts.addresses.useAgain}
                  </MayChange>
                )}
                {book.externalId !== null && <HoldButton storeId={book.storeId} version={version} />}
              </>
            )}
          />
        )}
      </Loaded>
    </Stack>
  )
}
