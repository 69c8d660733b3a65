import { Anchor, Badge, Button, Group, SegmentedControl, Stack, Table, Text, TextInput, Title } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import type { Invitation, Member } from '@storekeeper/client'
import { Search, UserPlus } from 'lucide-react'
import { useState } from 'react'
import { Link, useParams } from 'wouter'
import { useRead, useWrite } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { findSome } from '../../app/found-page.ts'
import { useMay } from '../../app/me.ts'
import { notes } from '../../app/notes.ts'
import { paths } from '../../app/paths.ts'
import { AllowedButton } from '../../components/allowed.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { Problem } from '../../components/problem.tsx'
import { Time } from '../../components/time.tsx'
import { texts } from '../../texts.ts'
import { useMemberEmail } from './email.ts'
import { InviteDialog } from './invite-dialog.tsx'

const MAX_SHOWN = 200
/** Somebody who was invited may join while the page is open. */
const READ_AGAIN = { refetchInterval: 20_000 }

export default function MembersPage() {
  const { storeId = '' } = useParams()
  const [inviting, setInviting] = useState(false)
  const may = useMay(storeId)('MANAGE_MEMBERS')
  return (
    <Page
      title={texts.members.title}
      about={texts.members.about}
      actions={
        <AllowedButton
          storeId={storeId}
          permission="MANAGE_MEMBERS"
          leftSection={<UserPlus size={16} aria-hidden />}
          onClick={() => setInviting(true)}
        >
          {texts.members.invite}
        </AllowedButton>
      }
    >
      <Members storeId={storeId} />
      {may && <Invitations storeId={storeId} />}
      {inviting && <InviteDialog storeId={storeId} onClose={() => setInviting(false)} />}
    </Page>
  )
}

function Members({ storeId }: { storeId: string }) {
  const [role, setRole] = useState('')
  const [text, setText] = useState('')
  const [q] = useDebouncedValue(text.trim(), 250)
  const members = useRead(
    ['members', storeId, role, q],
    (options) =>
      findSome(
        sk.store(storeId).members.list({ ...(role ? { role: role as 'OWNER' } : {}), ...(q ? { q } : {}) }, options),
        MAX_SHOWN,
      ),
    READ_AGAIN,
  )
  return (
    <Stack>
      <Group>
        <TextInput
          flex={1}
          miw={220}
          leftSection={<Search size={16} aria-hidden />}
          placeholder={texts.members.search}
          aria-label={texts.members.search}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <SegmentedControl
          className="scrolls"
          aria-label={texts.members.filter}
          value={role}
          onChange={setRole}
          data={[
            { value: '', label: texts.members.all },
            ...Object.entries(texts.stores.roles).map(([value, label]) => ({ value, label })),
          ]}
        />
      </Group>
      <Loaded query={members}>
        {(found) =>
          found.length === 0 ? (
            <Text c="dimmed" role="status">
              {texts.members.nobody}
            </Text>
          ) : (
            <div className="rows">
              <Table verticalSpacing="sm" className="stacks">
                <Table.Thead>
                  <Table.Tr>
                    {texts.members.columns.map((column) => (
                      <Table.Th key={column}>{column}</Table.Th>
                    ))}
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {found.map((member) => (
                    <MemberRow key={member.userId} member={member} />
                  ))}
                </Table.Tbody>
              </Table>
            </div>
          )
        }
      </Loaded>
    </Stack>
  )
}

function MemberRow({ member }: { member: Member }) {
  const { storeId, userId, name, role, createdAt } = member
  const email = useMemberEmail(member)
  return (
    <Table.Tr>
      <Table.Td>
        <Anchor component={Link} href={paths.member(storeId, userId)} fw={600}>
          {name ?? email ?? userId}
        </Anchor>
        {name && (
          <Text size="sm" c="dimmed">
            {email}
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <Badge variant="light" color={role === 'OWNER' ? 'indigo' : 'gray'}>
          {texts.stores.roles[role as keyof typeof texts.stores.roles] ?? role}
        </Badge>
      </Table.Td>
      <Table.Td>
        <Time at={createdAt} as="day" />
      </Table.Td>
    </Table.Tr>
  )
}

function Invitations({ storeId }: { storeId: string }) {
  const invitations = useRead(['invitations', storeId], (options) => readInvitations(storeId, options), READ_AGAIN).data
  if (!invitations?.length) return null
  return (
    <Stack gap="sm">
      <Title order={2} size="h4">
        {texts.members.invitations}
      </Title>
      <div className="rows">
        <Table verticalSpacing="sm" className="stacks">
          <Table.Tbody>
            {invitations.map((invitation) => (
              <InvitationRow key={invitation.id} invitation={invitation} />
            ))}
          </Table.Tbody>
        </Table>
      </div>
    </Stack>
  )
}

/** A link that was made in this browser is of no use once its invitation was accepted, withdrawn or has ended. */
async function readInvitations(storeId: string, options: { signal?: AbortSignal | undefined }): Promise<Invitation[]> {
  // As noted before the list is asked for: what is made meanwhile cannot be in it.
  const noted = notes.all().filter((note) => note.operation === 'invitations.create' && note.storeId === storeId)
  const open = await sk.store(storeId).invitations.list({}, options).toArray({ max: MAX_SHOWN })
  if (open.length < MAX_SHOWN)
    for (const { madeId } of noted) if (madeId && !open.some(({ id }) => id === madeId)) notes.forget(madeId)
  return open
}

function InvitationRow({ invitation: { id, storeId, email, role, expiresAt } }: { invitation: Invitation }) {
  const withdraw = useWrite(
    async () => {
      await sk.store(storeId).invitations.withdraw(id)
      notes.forget(id)
    },
    { changes: [['invitations', storeId]] },
  )
  return (
    <Table.Tr>
      <Table.Td>{email}</Table.Td>
      <Table.Td>
        <Badge variant="light" color="gray">
          {texts.stores.roles[role as keyof typeof texts.stores.roles] ?? role}
        </Badge>
      </Table.Td>
      <Table.Td>
        {texts.members.ends} <Time at={expiresAt} />
      </Table.Td>
      <Table.Td>
        <Button size="xs" variant="default" loading={withdraw.isPending} onClick={() => withdraw.mutate(undefined)}>
          {texts.members.withdraw}
        </Button>
        {withdraw.error && <Problem error={withdraw.error} />}
      </Table.Td>
    </Table.Tr>
  )
}
