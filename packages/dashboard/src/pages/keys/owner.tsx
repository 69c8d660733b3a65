// The keys of one owner: which owner it is, and how all their keys were used, ended ones included.

import { Button, Group, Stack, Text } from '@mantine/core'
import { Link } from 'wouter'
import { sk } from '../../app/client.ts'
import { paths } from '../../app/paths.ts'
import { UsePlot } from '../../components/use-plot.tsx'
import { texts } from '../../texts.ts'

export function OwnerUse({ storeId, owner }: { storeId: string; owner: string }) {
  return (
    <Stack>
      <Group>
        <Text className="breaks">{texts.keys.ofOwner(owner)}</Text>
        <Button component={Link} href={paths.keys(storeId)} size="compact-sm" variant="default">
          {texts.keys.allOwners}
        </Button>
      </Group>
      <UsePlot
        title={texts.keys.use}
        readKey={['usage', storeId, 'owner', owner]}
        read={async (query, options) => (await sk.store(storeId).owners.usage(owner, query, options)).data}
        fileName="owner.csv"
      />
    </Stack>
  )
}
