// The credits of a key: what is left, and adding to it.

import { Button, Group, Paper, Stack, Text } from '@mantine/core'
import type { Key } from '@storekeeper/client'
import { useState } from 'react'
import { useWrite } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { NumberInput } from '../../components/number-input.tsx'
import { Problem } from '../../components/problem.tsx'
import { texts } from '../../texts.ts'

export function Credits({ apiKey: { storeId, id, credits } }: { apiKey: Key }) {
  const [amount, setAmount] = useState<number | string>('')
  const change = useWrite(
    (input: { add: number } | { set: number }, options) => sk.store(storeId).keys.changeCredits(id, input, options),
    { changes: [['keys', storeId]] },
  )
  const send = (input: { add: number } | { set: number }) => change.mutate(input, { onSuccess: () => setAmount('') })
  return (
    <Paper withBorder p="md">
      <Stack>
        <Text fw={600}>{texts.keys.creditsLeft(credits?.remaining ?? 0)}</Text>
        <Group align="flex-end">
          <NumberInput label={texts.keys.creditAmount} value={amount} onChange={setAmount} min={0} />
          <Button
            variant="default"
            disabled={amount === ''}
            loading={change.isPending}
            onClick={() => send({ add: Number(amount) })}
          >
            {texts.keys.addCredits}
          </Button>
          <Button variant="default" disabled={amount === ''} onClick={() => send({ set: Number(amount) })}>
            {texts.keys.setCredits}
          </Button>
        </Group>
        {change.error && <Problem error={change.error} />}
      </Stack>
    </Paper>
  )
}
