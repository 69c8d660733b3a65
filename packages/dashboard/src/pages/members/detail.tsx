// A member: their role, what they have made, and removing them with a decision about each kind of it.

import { Alert, Group, List, Paper, Radio, Stack, Text, Title } from '@mantine/core'
import { isStorekeeperError, type Member } from '@storekeeper/client'
import { useState } from 'react'
import { useLocation, useParams } from 'wouter'
import { useRead, useWrite } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { useMe } from '../../app/me.ts'
import { paths } from '../../app/paths.ts'
import { AllowedButton } from '../../components/allowed.tsx'
import { Conflict } from '../../components/conflict.tsx'
import { DangerActions } from '../../components/danger-actions.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { Problem } from '../../components/problem.tsx'
import { texts } from '../../texts.ts'
import { useMemberEmail } from './email.ts'
import { type Grant, RoleFields } from './role-fields.tsx'

type Settling = { keys: 'keep' | 'revoke'; webhooks: 'keep' | 'disable' }
const KEEP: Settling = { keys: 'keep', webhooks: 'keep' }

export default function MemberPage() {
  const { storeId = '', userId = '' } = useParams()
  const member = useRead(['members', storeId, userId], (options) => sk.store(storeId).members.read(userId, options))
  return <Loaded query={member}>{(read) => <MemberDetail member={read} />}</Loaded>
}

function MemberDetail({ member }: { member: Member }) {
  const email = useMemberEmail(member)
  const { name, userId } = member
  return (
    <Page title={name ?? email ?? userId} about={name ? email : undefined}>
      <Stack gap="xl" maw={640}>
        <ChangeRole key={userId} member={member} />
        <RemoveMember member={member} />
      </Stack>
    </Page>
  )
}

const grantOf = ({ role, permissions }: Member): Grant => ({
  role: role as Grant['role'],
  permissions: role === 'OWNER' ? null : permissions,
})

function ChangeRole({ member }: { member: Member }) {
  const { storeId, userId } = member
  // As it was when the form was filled: what is read later must not pass for what was chosen here.
  const [base, setBase] = useState(member)
  const [theirs, setTheirs] = useState<Member | null>(null)
  const [grant, setGrant] = useState<Grant>(grantOf(base))
  const take = (read: Member) => {
    setBase(read)
    setGrant(grantOf(read))
    setTheirs(null)
  }
  const save = useWrite((ifMatch: Member) => sk.store(storeId).members.update(userId, grant, { ifMatch }), {
    changes: [['members', storeId]],
  })
  const send = async (ifMatch: Member) => {
    try {
      take((await save.mutateAsync(ifMatch)).member)
    } catch (error) {
      if (isStorekeeperError(error, 'precondition_failed')) setTheirs(await sk.store(storeId).members.read(userId))
    }
  }
  const changed = JSON.stringify(grant) !== JSON.stringify(grantOf(base))
  return (
    <Stack>
      <RoleFields storeId={storeId} value={grant} onChange={setGrant} />
      {theirs ? (
        <Conflict
          before={grantOf(base)}
          theirs={grantOf(theirs)}
          mine={grant}
          names={texts.members.fieldNames}
          onTakeTheirs={() => take(theirs)}
          onKeepMine={() => void send(theirs)}
        />
      ) : (
        save.error && <Problem error={save.error} />
      )}
      <Group>
        <AllowedButton
          storeId={storeId}
          permission="MANAGE_MEMBERS"
          disabled={!changed}
          loading={save.isPending}
          onClick={() => void send(base)}
        >
          {texts.app.save}
        </AllowedButton>
      </Group>
    </Stack>
  )
}

/** The keys and webhooks of somebody who goes: read before, so that the question can name them. */
function useMade(storeId: string, userId: string, enabled: boolean) {
  return useRead(
    ['made', storeId, userId],
    async (options) => {
      const [keys, webhooks] = await Promise.all([
        sk.store(storeId).keys.list({ createdBy: userId, status: 'ACTIVE' }, options).toArray({ max: 100 }),
        sk.store(storeId).webhooks.list({ createdBy: userId }, options).toArray({ max: 100 }),
      ])
      return { keys, webhooks }
    },
    { enabled },
  )
}

function RemoveMember({ member }: { member: Member }) {
  const { storeId, userId } = member
  const [, navigate] = useLocation()
  const [asking, setAsking] = useState(false)
  const [settling, setSettling] = useState<Settling>(KEEP)
  const isMe = useMe().data?.user.id === userId
  const made = useMade(storeId, userId, asking).data
  const remove = useWrite((how: Settling) => sk.store(storeId).members.remove(userId, how), {
    ends: [
      ['members', storeId],
      ['keys', storeId],
      ['webhooks', storeId],
    ],
  })
  return (
    <Paper withBorder p="md">
      <Stack align="flex-start">
        <Title order={2} size="h4">
          {texts.members.remove}
        </Title>
        <Text size="sm">{isMe ? texts.members.removeYourself : texts.members.removeHelp}</Text>
        <AllowedButton
          storeId={storeId}
          permission="MANAGE_MEMBERS"
          color="red"
          variant="outline"
          onClick={() => setAsking(true)}
        >
          {texts.members.remove}
        </AllowedButton>
      </Stack>
      <Dialog
        opened={asking}
        onClose={() => setAsking(false)}
        title={texts.members.removeAsk(member.name ?? member.email ?? userId)}
      >
        <Stack>
          {made && (made.keys.length > 0 || made.webhooks.length > 0) ? (
            <>
              <Text size="sm">{texts.members.madeHelp}</Text>
              {made.keys.length > 0 && (
                <Decision
                  title={texts.members.theirKeys(made.keys.length)}
                  items={made.keys.map(({ name }) => name)}
                  value={settling.keys}
                  onChange={(keys) => setSettling({ ...settling, keys: keys as Settling['keys'] })}
                  options={texts.members.keyDecisions}
                />
              )}
              {made.webhooks.length > 0 && (
                <Decision
                  title={texts.members.theirWebhooks(made.webhooks.length)}
                  items={made.webhooks.map(({ url }) => url ?? '')}
                  value={settling.webhooks}
                  onChange={(webhooks) => setSettling({ ...settling, webhooks: webhooks as Settling['webhooks'] })}
                  options={texts.members.webhookDecisions}
                />
              )}
            </>
          ) : (
            <Alert>{texts.members.madeNothing}</Alert>
          )}
          <DangerActions
            write={remove}
            label={texts.members.remove}
            onCancel={() => setAsking(false)}
            onConfirm={() => remove.mutate(settling, { onSuccess: () => navigate(paths.members(storeId)) })}
          />
        </Stack>
      </Dialog>
    </Paper>
  )
}

type DecisionProps = {
  title: string
  items: string[]
  value: string
  onChange: (value: string) => void
  options: readonly { value: string; label: string }[]
}

function Decision({ title, items, value, onChange, options }: DecisionProps) {
  return (
    <Radio.Group label={title} value={value} onChange={onChange}>
      <List size="sm" className="scrolls" mah={120}>
        {items.map((item) => (
          <List.Item key={item}>{item}</List.Item>
        ))}
      </List>
      <Group mt="xs">
        {options.map((option) => (
          <Radio key={option.value} value={option.value} label={option.label} />
        ))}
      </Group>
    </Radio.Group>
  )
}
