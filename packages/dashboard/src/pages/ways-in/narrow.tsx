// The frame of the pages for people who are not signed in.

import { Alert, Anchor, Container, Group, Paper, Stack, Text, Title } from '@mantine/core'
import { type ReactNode, useEffect } from 'react'
import { texts } from '../../texts.ts'

export function Narrow({ title, children }: { title: string; children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · ${texts.app.name}`
  }, [title])
  return (
    <Container component="main" size={440} py={{ base: 'lg', sm: 64 }}>
      <Stack>
        <Text fw={700}>{texts.app.name}</Text>
        <Paper withBorder p={{ base: 'md', sm: 'xl' }}>
          <Stack>
            <Title order={1} size="h2">
              {title}
            </Title>
            {children}
          </Stack>
        </Paper>
        <Group gap="md">
          <Anchor href="/docs" size="sm">
            {texts.app.docs}
          </Anchor>
          <Anchor href="/found-a-key" size="sm">
            {texts.signIn.foundKey}
          </Anchor>
        </Group>
      </Stack>
    </Container>
  )
}

export function CookieRefused() {
  return (
    <Alert color="red" title={texts.signIn.cookieRefused} role="alert">
      {texts.signIn.cookieRefusedHelp}
    </Alert>
  )
}
