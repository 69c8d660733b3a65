import { Button, Stack, Text, Title } from '@mantine/core'
import { Link } from 'wouter'
import { texts } from '../texts.ts'
import { paths } from './paths.ts'

export default function NotFound() {
  return (
    <Stack align="flex-start" py="xl">
      <Title order={1}>{texts.app.notFound}</Title>
      <Text>{texts.app.notFoundHelp}</Text>
      <Button component={Link} href={paths.stores} variant="default">
        {texts.app.home}
      </Button>
    </Stack>
  )
}
