// What was sent to a webhook: each message with its attempts, the answer, and the next try in words.

import { Badge, Button, Code, Group, SegmentedControl, Stack, Table, Text, Title } from '@mantine/core'
import type { Delivery, Webhook } from '@storekeeper/client'
import { useState } from 'react'
import { useRead, useWrite } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { nextFound } from '../../app/found-page.ts'
import { Dialog } from '../../components/dialog.tsx'
import { Empty } from '../../components/empty.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Problem } from '../../components/problem.tsx'
import { Time } from '../../components/time.tsx'
import { texts } from '../../texts.ts'

const COLORS: Record<string, string> = { PENDING: 'blue', DELIVERED: 'green', FAILED: 'red' }
type Filter = '' | 'PENDING' | 'DELIVERED' | 'FAILED'

export function Deliveries({ webhook: { storeId, id } }: { webhook: Webhook }) {
  const [{ status, from }, setShown] = useState<{ status: Filter; from?: string }>({ status: '' })
  const [opened, setOpened] = useState<Delivery | null>(null)
  const deliveries = useRead(
    ['deliveries', storeId, id, status, from],
    (options) =>
      nextFound(sk.store(storeId).deliveries.list(id, { ...(status && { status }), limit: 100 }, options), from),
    { refetchInterval: status ? 20_000 : 5_000 },
  )
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={2} size="h4">
          {texts.webhooks.deliveries}
        </Title>
        <SegmentedControl
          size="xs"
          aria-label={texts.webhooks.filter}
          value={status}
          onChange={(value) => setShown({ status: value as Filter })}
          data={[
            { value: '', label: texts.members.all },
            ...Object.entries(texts.webhooks.statuses).map(([value, label]) => ({ value, label })),
          ]}
        />
      </Group>
      <Loaded query={deliveries}>
        {({ data, nextCursor }) =>
          data.length === 0 && nextCursor !== null ? (
            <Empty
              title={texts.webhooks.noneYet}
              action={
                <Button variant="default" onClick={() => setShown({ status, from: nextCursor })}>
                  {texts.webhooks.lookFurther}
                </Button>
              }
            >
              {texts.webhooks.noneYetHelp}
            </Empty>
          ) : data.length === 0 ? (
            <Empty title={texts.webhooks.nothingSent}>{texts.webhooks.nothingSentHelp}</Empty>
          ) : (
            <div className="rows">
              <Table className="stacks">
                <Table.Tbody>
                  {data.map((delivery) => (
                    <Row key={delivery.id} delivery={delivery} onOpen={() => setOpened(delivery)} />
                  ))}
                </Table.Tbody>
              </Table>
            </div>
          )
        }
      </Loaded>
      {opened && <DeliveryDialog storeId={storeId} delivery={opened} onClose={() => setOpened(null)} />}
    </Stack>
  )
}

function Row({ delivery, onOpen }: { delivery: Delivery; onOpen: () => void }) {
  const { type, status, attempts, responseStatus, createdAt, nextAttemptAt, cause } = delivery
  return (
    <Table.Tr>
      <Table.Td>
        <Badge variant="light" color={COLORS[status] ?? 'gray'}>
          {texts.webhooks.statuses[status as keyof typeof texts.webhooks.statuses] ?? status}
        </Badge>
      </Table.Td>
      <Table.Td>
        <Code>{type}</Code>{' '}
        {cause !== 'EVENT' && (
          <Text span size="xs">
            {cause.toLowerCase()}
          </Text>
        )}
      </Table.Td>
      <Table.Td>{texts.webhooks.attempts(attempts, responseStatus)}</Table.Td>
      <Table.Td>
        {nextAttemptAt ? (
          <>
            {texts.webhooks.nextTry} <Time at={nextAttemptAt} />
          </>
        ) : (
          <Time at={createdAt} />
        )}
      </Table.Td>
      <Table.Td>
        <Button size="compact-xs" variant="default" onClick={onOpen}>
          {texts.webhooks.details}
        </Button>
      </Table.Td>
    </Table.Tr>
  )
}

type DialogProps = { storeId: string; delivery: Delivery; onClose: () => void }

function DeliveryDialog({ storeId, delivery, onClose }: DialogProps) {
  const { id, webhookId, eventId, type, error, durationMs, responseStatus, responseBody } = delivery
  const event = useRead(['events', storeId, eventId], (options) => sk.store(storeId).events.read(eventId, options), {
    enabled: delivery.cause !== 'TEST',
  }).data
  const again = useWrite((_: null, options) => sk.store(storeId).deliveries.redeliver(webhookId, id, options), {
    changes: [['deliveries', storeId, webhookId]],
  })
  return (
    <Dialog opened onClose={onClose} title={type} size="lg">
      <Stack>
        <Text size="sm">{texts.webhooks.outcome(responseStatus, durationMs, error)}</Text>
        {responseBody && (
          <Code block className="scrolls" tabIndex={0}>
            {responseBody}
          </Code>
        )}
        {event && (
          <>
            <Text size="sm" fw={600}>
              {texts.webhooks.sent}
            </Text>
            <Code block className="scrolls" mah={240} tabIndex={0}>
              {JSON.stringify(event, null, 2)}
            </Code>
          </>
        )}
        {again.error && <Problem error={again.error} />}
        <Group justify="flex-end">
          <Button loading={again.isPending} onClick={() => again.mutate(null, { onSuccess: onClose })}>
            {texts.webhooks.again}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  )
}
