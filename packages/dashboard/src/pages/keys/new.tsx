import { Button, Grid, Group, Input, Paper, SegmentedControl, Stack, TextInput } from '@mantine/core'
import { useEffect, useState } from 'react'
import { useLocation, useParams } from 'wouter'
import { useRead } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { useMembership } from '../../app/me.ts'
import NotFound from '../../app/not-found.tsx'
import { paths } from '../../app/paths.ts'
import { useSecret } from '../../app/secret-provider.tsx'
import { CurlExample } from '../../components/curl-example.tsx'
import { useServiceForm } from '../../components/form.ts'
import { Page } from '../../components/page.tsx'
import { Problem } from '../../components/problem.tsx'
import { texts } from '../../texts.ts'
import { readDraft, removeDraft, writeDraft } from './draft.ts'
import { MoreKeyFields } from './key-fields.tsx'
import { KEY_TYPES, type KeyValues, toNewKey } from './key-form.ts'
import { PermissionPicker } from './permission-picker.tsx'

export default function NewKeyPage() {
  const { storeId = '' } = useParams()
  // The command that the page shows is made of this id, which anybody may have written into a link.
  return useMembership(storeId) ? <NewKey storeId={storeId} /> : <NotFound />
}

function NewKey({ storeId }: { storeId: string }) {
  const [, navigate] = useLocation()
  const openSecret = useSecret()
  const [error, setError] = useState<unknown>(null)
  const [sending, setSending] = useState(false)
  const form = useServiceForm<KeyValues>({ initialValues: readDraft(storeId), keepsDraft: true })
  const values = form.getValues()
  useEffect(() => writeDraft(storeId, values), [storeId, values])
  const types = useRead(['grantable', storeId], (options) => sk.store(storeId).keys.grantable(options)).data?.types
  const create = async () => {
    setSending(true)
    setError(null)
    const input = toNewKey(form.getValues())
    try {
      const keyId = await openSecret({ operation: 'keys.create', storeId, ids: [], input, label: input.name })
      removeDraft(storeId)
      form.resetDirty()
      navigate(paths.key(storeId, keyId))
    } catch (failure) {
      if (!form.showFaults(failure)) setError(failure)
    } finally {
      setSending(false)
    }
  }
  return (
    <Page title={texts.keys.create} about={texts.keys.createHelp}>
      <Grid>
        <Grid.Col span={{ base: 12, md: 7 }}>
          <form onSubmit={form.onSubmit(() => void create())}>
            <Stack gap="lg">
              <TextInput
                required
                label={texts.keys.name}
                description={texts.keys.nameHelp}
                {...form.getInputProps('name')}
              />
              <Stack gap={4}>
                <Input.Label component="div" id="key-type">
                  {texts.keys.type}
                </Input.Label>
                <SegmentedControl
                  aria-labelledby="key-type"
                  data={KEY_TYPES.map(({ value, label }) => ({
                    value,
                    label,
                    disabled: types ? !types.includes(value) : false,
                  }))}
                  {...form.getInputProps('type')}
                />
              </Stack>
              <PermissionPicker
                storeId={storeId}
                value={values.permissions}
                onChange={(permissions) => form.setFieldValue('permissions', permissions)}
                error={form.errors.permissions}
              />
              <MoreKeyFields form={form} />
              {error !== null && <Problem error={error} />}
              <Group>
                <Button type="submit" loading={sending}>
                  {texts.keys.createNow}
                </Button>
                <Button variant="default" onClick={() => navigate(paths.keys(storeId))}>
                  {texts.app.cancel}
                </Button>
              </Group>
            </Stack>
          </form>
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 5 }}>
          <Paper withBorder p="md" pos="sticky" top={72}>
            <CurlExample method="POST" path={`/v1/user/store/${storeId}/keys`} body={toNewKey(values)} />
          </Paper>
        </Grid.Col>
      </Grid>
    </Page>
  )
}
