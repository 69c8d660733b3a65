// Erasing the account, in steps: the stores that would be left without an owner, what stays behind, and the question.

import { Alert, Anchor, Button, Group, List, Radio, Stack, Text, TextInput } from '@mantine/core'
import { isStorekeeperError, type User } from '@storekeeper/client'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { useRead, useWrite } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { forgetUser } from '../../app/forget-user.ts'
import { useMe } from '../../app/me.ts'
import { notes } from '../../app/notes.ts'
import { paths } from '../../app/paths.ts'
import { queryClient } from '../../app/query.ts'
import { announce } from '../../app/session.ts'
import { Dialog } from '../../components/dialog.tsx'
import { focusOnMount } from '../../components/focus.ts'
import { Loaded } from '../../components/loaded.tsx'
import { Problem } from '../../components/problem.tsx'
import { Section } from '../../components/section.tsx'
import { texts } from '../../texts.ts'
import { RECEIPT } from './erased.tsx'

type Named = { id: string; name: string }
type Leaving = { keys: 'keep' | 'revoke'; webhooks: 'keep' | 'disable' }

export function Erase({ user }: { user: User }) {
  const [opened, setOpened] = useState(false)
  return (
    <Section title={texts.account.erase} help={texts.account.eraseHelp}>
      <Group>
        <Button color="red" variant="outline" onClick={() => setOpened(true)}>
          {texts.account.eraseStart}
        </Button>
      </Group>
      {opened && <EraseDialog user={user} onClose={() => setOpened(false)} />}
    </Section>
  )
}

const STEPS = 3

function EraseDialog({ user, onClose }: { user: User; onClose: () => void }) {
  const [step, setStep] = useState(1)
  const [leaving, setLeaving] = useState<Leaving>({ keys: 'keep', webhooks: 'keep' })
  const next = () => setStep(step + 1)
  const back = step === 1 ? onClose : () => setStep(step - 1)
  return (
    <Dialog opened onClose={onClose} size="lg" title={texts.account.erase} closeOnClickOutside={false}>
      <Stack>
        {/* The button that led here is gone: the focus goes to the step, which is read aloud. */}
        <Text key={step} ref={step === 1 ? null : focusOnMount} tabIndex={-1} size="sm" c="dimmed">
          {texts.account.step(step, STEPS)}
        </Text>
        {step === 1 && <OwnedAlone onBack={back} onNext={next} />}
        {step === 2 && <LeftBehind value={leaving} onChange={setLeaving} onBack={back} onNext={next} />}
        {step === 3 && <LastQuestion user={user} leaving={leaving} onBack={back} />}
      </Stack>
    </Dialog>
  )
}

type StepProps = { onBack: () => void; onNext: () => void }

/** The stores that have no other owner. */
function useOwnedAlone() {
  const owned = useMe().data?.stores.filter(({ role }) => role === 'OWNER') ?? []
  const ids = owned.map(({ store }) => store.id)
  return useRead(['owned alone', ids], async (options) => {
    const alone: Named[] = []
    for (const { store } of owned) {
      const owners = await sk.store(store.id).members.list({ role: 'OWNER', limit: 2 }, options).toArray({ max: 2 })
      if (owners.length < 2) alone.push(store)
    }
    return alone
  })
}

function OwnedAlone({ onBack, onNext }: StepProps) {
  const alone = useOwnedAlone()
  return (
    <Loaded query={alone}>
      {(stores) => (
        <>
          {stores.length === 0 ? <Text size="sm">{texts.account.noneAlone}</Text> : <Orphans stores={stores} />}
          <Steps onBack={onBack} onNext={onNext} allowed={stores.length === 0} />
        </>
      )}
    </Loaded>
  )
}

function Orphans({ stores }: { stores: Named[] }) {
  return (
    <Alert color="yellow" title={texts.account.aloneTitle}>
      <Stack gap="xs">
        <Text size="sm">{texts.account.aloneHelp}</Text>
        <List size="sm">
          {stores.map(({ id, name }) => (
            <List.Item key={id}>
              <Text span inherit fw={600} className="breaks">
                {name}
              </Text>
              {': '}
              <Anchor component={Link} href={paths.members(id)} size="sm" c="inherit" underline="always">
                {texts.account.handOver}
              </Anchor>
              {', '}
              <Anchor component={Link} href={paths.storeSettings(id)} size="sm" c="inherit" underline="always">
                {texts.account.deleteStore}
              </Anchor>
            </List.Item>
          ))}
        </List>
      </Stack>
    </Alert>
  )
}

function Steps({ onBack, onNext, allowed = true }: StepProps & { allowed?: boolean }) {
  return (
    <Group justify="flex-end">
      <Button variant="default" onClick={onBack}>
        {texts.account.back}
      </Button>
      <Button onClick={onNext} disabled={!allowed}>
        {texts.signIn.continue}
      </Button>
    </Group>
  )
}

type LeftProps = StepProps & { value: Leaving; onChange: (value: Leaving) => void }

function LeftBehind({ value, onChange, onBack, onNext }: LeftProps) {
  return (
    <>
      <Facts title={texts.account.goes} facts={texts.account.goesFacts} />
      <Facts title={texts.account.stays} facts={texts.account.staysFacts} />
      <Radio.Group
        label={texts.account.yourKeys}
        value={value.keys}
        onChange={(keys) => onChange({ ...value, keys: keys as Leaving['keys'] })}
      >
        <Group mt="xs">
          {texts.members.keyDecisions.map((choice) => (
            <Radio key={choice.value} {...choice} />
          ))}
        </Group>
      </Radio.Group>
      <Radio.Group
        label={texts.account.yourWebhooks}
        value={value.webhooks}
        onChange={(webhooks) => onChange({ ...value, webhooks: webhooks as Leaving['webhooks'] })}
      >
        <Group mt="xs">
          {texts.members.webhookDecisions.map((choice) => (
            <Radio key={choice.value} {...choice} />
          ))}
        </Group>
      </Radio.Group>
      <Text size="sm">{texts.account.exportFirst}</Text>
      <Steps onBack={onBack} onNext={onNext} />
    </>
  )
}

function Facts({ title, facts }: { title: string; facts: readonly string[] }) {
  return (
    <div>
      <Text size="sm" fw={600}>
        {title}
      </Text>
      <List size="sm">
        {facts.map((fact) => (
          <List.Item key={fact}>{fact}</List.Item>
        ))}
      </List>
    </div>
  )
}

function LastQuestion({ user, leaving, onBack }: { user: User; leaving: Leaving; onBack: () => void }) {
  const [, navigate] = useLocation()
  const [typed, setTyped] = useState('')
  const name = user.email ?? user.name ?? user.id
  const erase = useWrite((how: Leaving) => sk.user.erase(how))
  const { error } = erase
  // The service says which ones: somebody may have ceased to be an owner meanwhile.
  const orphans = isStorekeeperError(error, 'last_owner') ? ((error.details.stores ?? []) as Named[]) : null
  const submit = async () => {
    const receipt = await erase.mutateAsync(leaving).catch(() => null)
    if (!receipt) return
    forgetUser()
    announce({ is: 'signed out' })
    notes.clear()
    queryClient.setQueryData(RECEIPT, receipt)
    navigate(paths.erased, { replace: true })
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void submit()
      }}
    >
      <Stack>
        <Alert color="red">{texts.account.eraseWarning}</Alert>
        <TextInput
          ref={focusOnMount}
          autoComplete="off"
          spellCheck={false}
          label={texts.stores.typeName(name)}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        {orphans ? <Orphans stores={orphans} /> : error && <Problem error={error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onBack}>
            {texts.account.back}
          </Button>
          <Button
            type="submit"
            color="red"
            loading={erase.isPending}
            disabled={typed.trim().toLowerCase() !== name.toLowerCase()}
          >
            {texts.account.eraseNow}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
