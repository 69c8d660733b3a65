import { Button, Group, Stack, TextInput } from '@mantine/core'
import { useLocation } from 'wouter'
import { useWrite } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { paths } from '../../app/paths.ts'
import { focusOnMount } from '../../components/focus.ts'
import { useServiceForm } from '../../components/form.ts'
import { Page } from '../../components/page.tsx'
import { Problem } from '../../components/problem.tsx'
import { texts } from '../../texts.ts'

export default function NewStorePage() {
  const [, navigate] = useLocation()
  const form = useServiceForm({ initialValues: { name: '' } })
  const create = useWrite((input: { name: string }, options) => sk.stores.create(input, options), {
    changes: [['me'], ['stores']],
  })
  const submit = async ({ name }: { name: string }) => {
    try {
      const store = await create.mutateAsync({ name: name.trim() })
      form.resetDirty()
      navigate(paths.overview(store.id))
    } catch (error) {
      form.showFaults(error)
    }
  }
  return (
    <Page title={texts.app.newStore} about={texts.stores.newHelp}>
      <form onSubmit={form.onSubmit((values) => void submit(values))}>
        <Stack maw={480}>
          <TextInput required label={texts.stores.name} ref={focusOnMount} {...form.getInputProps('name')} />
          {create.error && form.errors.name === undefined && <Problem error={create.error} />}
          <Group>
            <Button type="submit" loading={create.isPending}>
              {texts.stores.create}
            </Button>
          </Group>
        </Stack>
      </form>
    </Page>
  )
}
