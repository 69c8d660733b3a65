// Every version of an address as the store sees it, also when the address was deleted: this is what invoices point at.

import { Button, Code } from '@mantine/core'
import { Link, useParams } from 'wouter'
import { useRead } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { paths } from '../../app/paths.ts'
import { HoldButton } from '../../components/address/hold.tsx'
import { VersionTimeline } from '../../components/address/timeline.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { texts } from '../../texts.ts'

const MAX_SHOWN = 200

export default function InvoicingAddressPage() {
  const { storeId = '', addressId = '' } = useParams()
  const versions = useRead(['invoicing', storeId, addressId, 'versions'], (options) =>
    sk.store(storeId).invoicing.versions(addressId, {}, options).toArray({ max: MAX_SHOWN }),
  )
  const userId = versions.data?.[0]?.address.userId
  return (
    <Page
      title={texts.invoicing.versionsTitle}
      about={
        <>
          {texts.addresses.versionsHelp} <Code className="breaks">{addressId}</Code>
        </>
      }
      actions={
        userId && (
          <Button component={Link} variant="default" href={paths.invoicing(storeId, { userId })}>
            {texts.nav.invoicing}
          </Button>
        )
      }
    >
      <Loaded query={versions}>
        {(all) => (
          <VersionTimeline
            versions={all}
            path={paths.invoicingAddress(storeId, addressId)}
            actions={(version) => <HoldButton storeId={storeId} version={version} />}
          />
        )}
      </Loaded>
    </Page>
  )
}
