// The frame of a page: its title, which is the browser's too, a sentence, and its actions.

import { Group, Stack, Text, Title } from '@mantine/core'
import { type ReactNode, useEffect } from 'react'
import { setTitle } from '../app/cover.ts'
import { texts } from '../texts.ts'

type Props = { title: string; about?: ReactNode; actions?: ReactNode; children: ReactNode }

export function Page({ title, about, actions, children }: Props) {
  useEffect(() => setTitle(`${title} · ${texts.app.name}`), [title])
  return (
    <Stack gap="lg">
      <Group justify="space-between" align="flex-start">
        <Stack gap={4} miw={0} maw="100%">
          <Title order={1} size="h2" className="breaks">
            {title}
          </Title>
          {about && (
            <Text component="div" c="dimmed" maw={680}>
              {about}
            </Text>
          )}
        </Stack>
        {actions && <Group>{actions}</Group>}
      </Group>
      {children}
    </Stack>
  )
}
