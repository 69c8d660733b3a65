// An error as a person reads it: what happened, what to do, and the id to tell the operator. It stays until it is solved.

import { Alert, Anchor, Button, Group, Text } from '@mantine/core'
import { isStorekeeperError } from '@storekeeper/client'
import { CircleAlert } from 'lucide-react'
import { texts } from '../texts.ts'
import { Copy } from './copy.tsx'

export function Problem({ error, retry }: { error: unknown; retry?: () => void }) {
  const problem = isStorekeeperError(error) ? error : null
  const answered = problem?.status !== undefined
  const faults = problem?.errors.map((fault) => fault.detail).join(' ')
  const detail = answered ? faults || problem.message : problem ? texts.app.offline : String((error as Error).message)
  return (
    <Alert color="red" variant="light" icon={<CircleAlert size={20} aria-hidden />}>
      <Text size="sm">{detail}</Text>
      <Group mt="sm" gap="md">
        {retry && (
          <Button size="xs" variant="default" onClick={retry}>
            {texts.app.retry}
          </Button>
        )}
        {answered && (
          <Anchor size="sm" href={`/errors/${problem.code}`}>
            {texts.app.errorHelp}
          </Anchor>
        )}
        {problem?.requestId && <Copy text={problem.requestId} label={texts.app.requestId} />}
      </Group>
    </Alert>
  )
}
