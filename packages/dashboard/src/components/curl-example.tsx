// What the page does, as the command that does the same.

import { Code, Group, Stack, Text } from '@mantine/core'
import { texts } from '../texts.ts'
import { Copy } from './copy.tsx'
import { curlCommand } from './curl-command.ts'

export function CurlExample({ method, path, body }: { method: string; path: string; body?: object }) {
  const command = curlCommand(method, new URL(path, location.origin), body)
  return (
    <Stack gap="xs">
      <Group justify="space-between">
        <Text size="sm" fw={600}>
          {texts.app.sameAsCurl}
        </Text>
        <Copy text={command} />
      </Group>
      <Code block className="scrolls" tabIndex={0}>
        {command}
      </Code>
    </Stack>
  )
}
