// The versions of one address. A former one can be filled in again.

import { Stack, Text } from '@mantine/core'
import type { Address, AddressVersion } from '@storekeeper/client'
import { useLocation } from 'wouter'
import { useRead } from '../../app/api.ts'
import type { AddressBook } from '../../components/address/book.ts'
import { MayChange } from '../../components/address/cards.tsx'
import { drafts } from '../../components/address/draft.ts'
import { HoldButton } from '../../components/address/hold.tsx'
import { VersionTimeline } from '../../components/address/timeline.tsx'
import { toValues } from '../../components/address/values.ts'
import { Loaded } from '../../components/loaded.tsx'
import { texts } from '../../texts.ts'

export default function Versions({ book, address }: { book: AddressBook; address: Address }) {
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
