// What a list says when there is nothing in it: what would be here, and the way to the first one.

import { Paper, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'

export function Empty({ title, children, action }: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <Paper withBorder p="xl">
      <Stack align="flex-start" gap="sm">
        <Title order={2} size="h4">
          {title}
        </Title>
        {children && (
          <Text c="dimmed" maw={560}>
            {children}
          </Text>
        )}
        {action}
      </Stack>
    </Paper>
  )
}
