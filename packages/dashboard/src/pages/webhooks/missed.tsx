// "It was down from … to …: send all of it", with progress.

import { Alert, Group, Paper, Progress, Stack, Text, TextInput, Title } from '@mantine/core'
import type { Webhook } from '@storekeeper/client'
import { useState } from 'react'
import { sk, withSession } from '../../app/client.ts'
import { AllowedButton } from '../../components/allowed.tsx'
import { Problem } from '../../components/problem.tsx'
import { texts } from '../../texts.ts'
import { toLocalInput } from '../keys/key-form.ts'

type Run = { sent: number; done: boolean; share: number }

export function Missed({ webhook: { storeId, id, failingSince } }: { webhook: Webhook }) {
  const [from, setFrom] = useState(
    toLocalInput(failingSince ? new Date(failingSince) : new Date(Date.now() - 3_600_000)),
  )
  const [to, setTo] = useState(toLocalInput(new Date()))
  const [run, setRun] = useState<Run | null>(null)
  const [error, setError] = useState<unknown>(null)
  const send = async () => {
    setError(null)
    const [first, end] = [new Date(from), new Date(to)]
    let next: string | null = first.toISOString()
    let sent = 0
    try {
      while (next !== null) {
        const start: string = next
        const share = (Date.parse(start) - first.getTime()) / Math.max(1, end.getTime() - first.getTime())
        setRun({ sent, done: false, share })
        const part = await withSession(() => sk.store(storeId).webhooks.redeliver(id, { from: start, to: end }))
        sent += part.deliveries
        next = part.nextFrom
      }
      setRun({ sent, done: true, share: 1 })
    } catch (failure) {
      setError(failure)
    }
  }
  const busy = run !== null && !run.done && error === null
  return (
    <Paper withBorder p="md">
      <Stack>
        <Title order={2} size="h5">
          {texts.webhooks.missed}
        </Title>
        <Text size="sm">{texts.webhooks.missedHelp}</Text>
        <Group align="flex-end">
          <TextInput
            type="datetime-local"
            label={texts.webhooks.from}
            value={from}
            onChange={(event) => setFrom(event.currentTarget.value)}
          />
          <TextInput
            type="datetime-local"
            label={texts.webhooks.to}
            value={to}
            onChange={(event) => setTo(event.currentTarget.value)}
          />
          <AllowedButton
            storeId={storeId}
            permission="MANAGE_WEBHOOKS"
            variant="default"
            loading={busy}
            onClick={() => void send()}
          >
            {texts.webhooks.sendMissed}
          </AllowedButton>
        </Group>
        {run && <Progress value={run.share * 100} aria-label={texts.webhooks.missed} />}
        {run?.done && <Alert role="status">{texts.webhooks.missedDone(run.sent)}</Alert>}
        {error !== null && <Problem error={error} retry={() => void send()} />}
      </Stack>
    </Paper>
  )
}
