// Name, e-mail address, and which mails somebody wants.

import { Alert, Badge, Button, Group, PasswordInput, Stack, Switch, Text, TextInput } from '@mantine/core'
import { isStorekeeperError, type User } from '@storekeeper/client'
import { useState } from 'react'
import { useWrite } from '../../app/api.ts'
import { sk, useSettings } from '../../app/client.ts'
import { useServiceForm } from '../../components/form.ts'
import { Problem } from '../../components/problem.tsx'
import { Section } from '../../components/section.tsx'
import { texts } from '../../texts.ts'

const CHANGES = { changes: [['me']] }

export default function Profile({ user }: { user: User }) {
  return (
    <>
      <Name user={user} />
      <Email key={`${user.email} ${user.pendingEmail}`} user={user} />
      <Mails user={user} />
    </>
  )
}

function Name({ user }: { user: User }) {
  const form = useServiceForm({ initialValues: { name: user.name ?? '' } })
  const save = useWrite(({ name }: { name: string }) => sk.user.update({ name: name.trim() || null }), CHANGES)
  const submit = async (values: { name: string }) => {
    try {
      const { name } = await save.mutateAsync(values)
      form.setInitialValues({ name: name ?? '' })
      form.reset()
    } catch (error) {
      form.showFaults(error)
    }
  }
  return (
    <Section title={texts.account.name} help={texts.account.nameHelp}>
      <form onSubmit={form.onSubmit((values) => void submit(values))}>
        <Stack align="flex-start">
          <TextInput w="100%" maw={400} autoComplete="name" label={texts.signIn.name} {...form.getInputProps('name')} />
          {save.error && form.errors.name === undefined && <Problem error={save.error} />}
          <Group>
            <Button type="submit" disabled={!form.isDirty()} loading={save.isPending}>
              {texts.app.save}
            </Button>
            {save.isSuccess && !form.isDirty() && <Saved />}
          </Group>
        </Stack>
      </form>
    </Section>
  )
}

export function Saved({ children = texts.account.saved }: { children?: string }) {
  return (
    <Text size="sm" role="status">
      {children}
    </Text>
  )
}

function Email({ user }: { user: User }) {
  const mail = useSettings()?.mail
  const [changing, setChanging] = useState<string | null>(null)
  return (
    <Section title={texts.signIn.email}>
      <Group gap="xs">
        <Text className="breaks">{user.email ?? texts.account.noEmail}</Text>
        {user.email && mail && (
          <Badge variant="light" color={user.emailVerified ? 'green' : 'yellow'}>
            {user.emailVerified ? texts.account.confirmed : texts.account.unconfirmed}
          </Badge>
        )}
      </Group>
      {user.pendingEmail && (
        <Alert color="yellow" title={texts.account.pendingTitle}>
          {texts.account.pending(user.pendingEmail)}
        </Alert>
      )}
      {changing === null ? (
        <Group>
          <Button variant="default" onClick={() => setChanging('')}>
            {texts.account.changeEmail}
          </Button>
          {mail && (user.pendingEmail || (user.email && !user.emailVerified)) && (
            <Button variant="default" onClick={() => setChanging(user.pendingEmail ?? user.email)}>
              {texts.account.sendAgain}
            </Button>
          )}
        </Group>
      ) : (
        <ChangeEmail email={changing} byMail={mail === true} onClose={() => setChanging(null)} />
      )}
    </Section>
  )
}

type ChangeProps = { email: string; byMail: boolean; onClose: () => void }
type EmailValues = { email: string; currentPassword: string }

function ChangeEmail({ email, byMail, onClose }: ChangeProps) {
  const form = useServiceForm<EmailValues>({ initialValues: { email, currentPassword: '' } })
  const save = useWrite((values: EmailValues) => sk.user.update(values), CHANGES)
  const submit = async (values: EmailValues) => {
    try {
      await save.mutateAsync(values)
      form.resetDirty()
      onClose()
    } catch (error) {
      form.showFaults(error)
      if (isStorekeeperError(error, 'invalid_credentials'))
        form.setFieldError('currentPassword', texts.account.wrongPassword)
    }
  }
  return (
    <form onSubmit={form.onSubmit((values) => void submit(values))}>
      <Stack maw={400}>
        <TextInput
          required
          type="email"
          autoComplete="email"
          maxLength={254}
          label={texts.account.newEmail}
          description={byMail ? texts.account.newEmailHelp : undefined}
          {...form.getInputProps('email')}
        />
        <CurrentPassword {...form.getInputProps('currentPassword')} />
        {save.error && Object.keys(form.errors).length === 0 && <Problem error={save.error} />}
        <Group>
          <Button type="submit" loading={save.isPending}>
            {byMail ? texts.account.sendLink : texts.app.save}
          </Button>
          <Button variant="default" onClick={onClose}>
            {texts.app.cancel}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

export function CurrentPassword(field: object) {
  return (
    <PasswordInput
      required
      autoComplete="current-password"
      maxLength={256}
      label={texts.account.currentPassword}
      visibilityToggleButtonProps={{ 'aria-label': texts.signIn.showPassword }}
      {...field}
    />
  )
}

function Mails({ user }: { user: User }) {
  const mail = useSettings()?.mail
  const save = useWrite((changes: Partial<User['mail']>) => sk.user.update({ mail: changes }), CHANGES)
  // What was just switched shows at once; what is read again follows.
  const shown = { ...user.mail, ...(save.isPending ? save.variables : {}) }
  return (
    <Section title={texts.account.mails} help={mail === false ? texts.account.noMails : texts.account.mailsHelp}>
      {(Object.keys(texts.account.mailSwitches) as (keyof User['mail'])[]).map((name) => (
        <Switch
          key={name}
          label={texts.account.mailSwitches[name].label}
          description={texts.account.mailSwitches[name].help}
          checked={shown[name]}
          onChange={(event) => save.mutate({ [name]: event.currentTarget.checked })}
        />
      ))}
      {save.error && <Problem error={save.error} />}
    </Section>
  )
}
