// What the page does, as the command that does the same.

import { Code, Group, Stack, Text } from '@mantine/core'
import { texts } from '../texts.ts'
import { Copy } from './copy.tsx'

function curlCommand(method: string, path: string, body?: object): string {
  const url = `${location.origin}${path}`
  const lines = [`curl -X ${method} '${url}'`, `  -H "Authorization: Bearer $STOREKEEPER_TOKEN"`]
  if (method === 'POST') lines.push(`  -H "Idempotency-Key: $(uuidgen)"`)
  if (body) {
    lines.push("  -H 'Content-Type: application/json'")
    // A quote inside single quotes: end them, an escaped quote, begin them again.
    lines.push(`  -d '${JSON.stringify(body, null, 2).replaceAll("'", `'\\''`)}'`)
  }
  return lines.join(' \\\n')
}

export function CurlExample({ method, path, body }: { method: string; path: string; body?: object }) {
  const command = curlCommand(method, path, body)
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
