// The addresses of somebody at a moment: the default of then first, each with the reference that an invoice keeps.

import { Badge, Button, Card, Code, Group, SimpleGrid, Stack, Title } from '@mantine/core'
import type { InvoiceAddress } from '@storekeeper/client'
import { History, Star } from 'lucide-react'
import { Link } from 'wouter'
import { useRead } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { paths } from '../../app/paths.ts'
import { HoldButton } from '../../components/address/hold.tsx'
import { Label } from '../../components/address/label.tsx'
import { Erased } from '../../components/address/timeline.tsx'
import { Copy } from '../../components/copy.tsx'
import { Empty } from '../../components/empty.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { exactTime, Time } from '../../components/time.tsx'
import { texts } from '../../texts.ts'

const MAX_SHOWN = 200

export function AddressesAt({ storeId, userId, at }: { storeId: string; userId: string; at: string }) {
  const addresses = useRead(['invoicing', storeId, userId, at], (options) =>
    sk
      .store(storeId)
      .invoicing.list({ userId, ...(at ? { at } : {}) }, options)
      .toArray({ max: MAX_SHOWN }),
  )
  return (
    <Loaded query={addresses}>
      {(all) => {
        const others = all.filter(({ isDefault }) => !isDefault)
        if (all.length === 0)
          return (
            <Empty title={texts.invoicing.none}>
              {texts.invoicing.noneHelp(at ? texts.invoicing.atMoment(exactTime(at)) : texts.invoicing.atNow)}
            </Empty>
          )
        return (
          <Stack gap="lg">
            <Cards addresses={all.filter(({ isDefault }) => isDefault)} isThen={at !== ''} />
            {others.length > 0 && (
              <>
                <Title order={2} size="h4">
                  {texts.invoicing.others}
                </Title>
                <Cards addresses={others} isThen={at !== ''} />
              </>
            )}
          </Stack>
        )
      }}
    </Loaded>
  )
}

function Cards({ addresses, isThen }: { addresses: InvoiceAddress[]; isThen: boolean }) {
  return (
    <SimpleGrid cols={{ base: 1, sm: 2, xl: 3 }}>
      {addresses.map((address) => (
        <AddressCard key={address.id} address={address} isThen={isThen} />
      ))}
    </SimpleGrid>
  )
}

function AddressCard({ address, isThen }: { address: InvoiceAddress; isThen: boolean }) {
  const { id, storeId, version, isDefault, erased, formatted } = address
  const held = useRead(['invoicing', storeId, id, version], (options) =>
    sk.store(storeId).invoicing.readVersion(id, version, options),
  ).data
  return (
    <Card withBorder component="article" aria-label={erased ? id : formatted[0]}>
      <Stack gap="sm" h="100%">
        <Group gap="xs">
          {isDefault && (
            <Badge variant="light" leftSection={<Star size={12} aria-hidden />}>
              {isThen ? texts.invoicing.defaultThen : texts.addresses.default}
            </Badge>
          )}
          <Badge variant="light" color="gray">
            {texts.addresses.version(version)}
          </Badge>
          {held?.hold && (
            <Badge variant="light" color="blue">
              {texts.addresses.held} <Time at={held.hold.until} as="day" />
            </Badge>
          )}
        </Group>
        {erased ? <Erased address={address} /> : <Label lines={formatted} />}
        <Code className="breaks">{id}</Code>
        <Group gap="xs" mt="auto">
          <Copy text={`${id} ${version}`} label={texts.addresses.copyReference} variant="filled" />
          {held && <HoldButton storeId={storeId} version={held} />}
          <Button
            component={Link}
            href={`${paths.invoicingAddress(storeId, id)}?version=${version}`}
            size="xs"
            variant="default"
            leftSection={<History size={14} aria-hidden />}
          >
            {texts.invoicing.versions}
          </Button>
        </Group>
      </Stack>
    </Card>
  )
}
