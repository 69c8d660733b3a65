import { Badge, Button, Card, Group, SimpleGrid, Stack, Text, Title } from '@mantine/core'
import type { Store } from '@storekeeper/client'
import { Plus, Snowflake } from 'lucide-react'
import { Link, useLocation } from 'wouter'
import { useRead, useWrite } from '../../app/api.ts'
import { sk } from '../../app/client.ts'

import { type Membership, useMe } from '../../app/me.ts'
import { homeOf, paths } from '../../app/paths.ts'
import { Empty } from '../../components/empty.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { Problem } from '../../components/problem.tsx'
import { Time } from '../../components/time.tsx'
import { texts } from '../../texts.ts'

export default function StoresPage() {
  const me = useMe()
  return (
    <Page
      title={texts.app.stores}
      // Who has no store yet finds the same button below.
      actions={
        me.data?.stores.length !== 0 && (
          <Button component={Link} href={paths.newStore} leftSection={<Plus size={16} aria-hidden />}>
            {texts.app.newStore}
          </Button>
        )
      }
    >
      <Loaded query={me}>
        {({ stores }) =>
          stores.length === 0 ? (
            <NoStores />
          ) : (
            <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
              {stores.map((membership) => (
                <StoreCard key={membership.store.id} {...membership} />
              ))}
            </SimpleGrid>
          )
        }
      </Loaded>
      <DeletedStores />
    </Page>
  )
}

function StoreCard(membership: Membership) {
  const { store, role } = membership
  return (
    <Card withBorder component={Link} href={homeOf(membership)}>
      <Group justify="space-between" wrap="nowrap">
        <Text fw={600} lineClamp={2}>
          {store.name}
        </Text>
        <Badge variant="light" color="gray">
          {texts.stores.roles[role as keyof typeof texts.stores.roles] ?? role}
        </Badge>
      </Group>
      <Text size="sm" c="dimmed">
        {texts.stores.since} <Time at={store.createdAt} as="day" />
      </Text>
      {store.frozenAt && (
        <Group gap={4}>
          <Snowflake size={14} aria-hidden />
          <Text size="sm">{texts.stores.frozen}</Text>
        </Group>
      )}
    </Card>
  )
}

function NoStores() {
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }}>
      <Empty
        title={texts.stores.none}
        action={
          <Button component={Link} href={paths.newStore}>
            {texts.app.newStore}
          </Button>
        }
      >
        {texts.stores.noneHelp}
      </Empty>
      <Empty title={texts.stores.invited}>{texts.stores.invitedHelp}</Empty>
    </SimpleGrid>
  )
}

/** A deleted store can be restored for a while. */
function DeletedStores() {
  const deleted = useRead(['stores', 'deleted'], (options) =>
    sk.stores.list({ deleted: 'true' }, options).toArray({ max: 100 }),
  ).data
  if (!deleted?.length) return null
  return (
    <Stack gap="sm">
      <Title order={2} size="h4">
        {texts.stores.deleted}
      </Title>
      {deleted.map((store) => (
        <DeletedStore key={store.id} store={store} />
      ))}
    </Stack>
  )
}

function DeletedStore({ store }: { store: Store }) {
  const [, navigate] = useLocation()
  const restore = useWrite((_: null, options) => sk.stores.restore(store.id, options), {
    changes: [['stores'], ['me']],
  })
  return (
    <Card withBorder>
      <Group justify="space-between">
        <Text>
          {store.name}, {texts.stores.deletedAt} <Time at={store.deletedAt} />
        </Text>
        <Button
          size="xs"
          variant="default"
          loading={restore.isPending}
          onClick={() => restore.mutate(null, { onSuccess: () => navigate(paths.overview(store.id)) })}
        >
          {texts.stores.restore}
        </Button>
      </Group>
      {restore.error && <Problem error={restore.error} />}
    </Card>
  )
}
