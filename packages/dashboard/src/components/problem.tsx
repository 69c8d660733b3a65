// An error as a person reads it: what happened, what to do, and the id to tell the operator. It stays until it is solved.

import { Alert, Anchor, Button, Group, Text } from '@mantine/core'
import { CircleAlert } from 'lucide-react'
import { texts } from '../texts.ts'
import { Copy } from './copy.tsx'
import { textOf } from './problem-text.ts'

export function Problem({ error, retry }: { error: unknown; retry?: () => void }) {
  const { detail, code, requestId } = textOf(error)
  return (
    <Alert color="red" variant="light" icon={<CircleAlert size={20} aria-hidden />}>
      <Text size="sm">{detail}</Text>
      <Group mt="sm" gap="md" className="vanishes-empty">
        {retry && (
          <Button size="xs" variant="default" onClick={retry}>
            {texts.app.retry}
          </Button>
        )}
        {code && (
          <Anchor size="sm" href={`/errors/${code}`}>
            {texts.app.errorHelp}
          </Anchor>
        )}
        {requestId && <Copy text={requestId} label={texts.app.requestId} />}
      </Group>
    </Alert>
  )
}
