// A part of a page, with a title of its own.

import { Paper, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'

export function Section({ title, help, children }: { title: string; help?: ReactNode; children: ReactNode }) {
  return (
    <Paper component="section" withBorder p={{ base: 'md', sm: 'lg' }} aria-label={title}>
      <Stack>
        <Stack gap={4}>
          <Title order={2} size="h4">
            {title}
          </Title>
          {help && (
            <Text size="sm" c="dimmed">
              {help}
            </Text>
          )}
        </Stack>
        {children}
      </Stack>
    </Paper>
  )
}
