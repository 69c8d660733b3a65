// One address: its form, and its versions.

import { Tabs } from '@mantine/core'
import { lazy, Suspense } from 'react'
import { useLocation, useParams } from 'wouter'
import { useRead } from '../../app/api.ts'
import { useAddressBook } from '../../components/address/book.ts'
import { AddressForm } from '../../components/address/form.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { Waiting } from '../../components/waiting.tsx'
import { texts } from '../../texts.ts'

const Versions = lazy(() => import('./versions.tsx'))

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
              <Suspense fallback={<Waiting />}>
                <Versions book={book} address={read} />
              </Suspense>
            </Tabs.Panel>
          </Tabs>
        )}
      </Loaded>
    </Page>
  )
}
