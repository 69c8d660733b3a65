// Where somebody is signed in, and ending it.

import { Badge, Button, Code, Group, Stack, Text } from '@mantine/core'
import type { Session } from '@storekeeper/client'
import { useState } from 'react'
import { useRead, useWrite } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { DangerActions } from '../../components/danger-actions.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Problem } from '../../components/problem.tsx'
import { Section } from '../../components/section.tsx'
import { Time } from '../../components/time.tsx'
import { texts } from '../../texts.ts'
import { inWords } from './user-agent.ts'

const MAX_SHOWN = 200

export function useSessions() {
  return useRead(['sessions'], async (options) => {
    const all = await sk.sessions.list({}, options).toArray({ max: MAX_SHOWN })
    return all.sort((a, b) => Number(b.current) - Number(a.current) || b.lastUsedAt.localeCompare(a.lastUsedAt))
  })
}

export default function Sessions() {
  const sessions = useSessions()
  return (
    <Section title={texts.account.sessions} help={texts.account.sessionsHelp}>
      <Loaded query={sessions}>
        {(all) => (
          <>
            {all.map((session) => (
              <SessionRow key={session.id} session={session} />
            ))}
            {all.length > 1 && <EndOthers count={all.length - 1} />}
          </>
        )}
      </Loaded>
    </Section>
  )
}

function nameOf({ userAgent }: Session): string {
  const { browser, system } = inWords(userAgent ?? '')
  return texts.account.device(browser, system)
}

function SessionRow({ session }: { session: Session }) {
  const { id, current, ip, method, userAgent, createdAt, lastUsedAt } = session
  const [raw, setRaw] = useState(false)
  const end = useWrite(() => sk.sessions.end(id), { changes: [['sessions']] })
  return (
    <Stack gap="xs">
      <Group justify="space-between" align="flex-start" wrap="nowrap">
        <Stack gap={2}>
          <Group gap="xs">
            <Text fw={600}>{nameOf(session)}</Text>
            {current && (
              <Badge variant="light" color="green">
                {texts.account.thisOne}
              </Badge>
            )}
          </Group>
          <Text size="sm" c="dimmed" className="breaks">
            {texts.account.lastUsed} <Time at={lastUsedAt} />
            {ip && `, ${texts.account.from(ip)}`}
          </Text>
          <Text size="sm" c="dimmed">
            {texts.account.signedIn[method as keyof typeof texts.account.signedIn] ?? method} <Time at={createdAt} />
          </Text>
        </Stack>
        {!current && (
          <Button
            size="xs"
            variant="default"
            className="keeps-size"
            loading={end.isPending}
            aria-label={texts.account.endNamed(nameOf(session))}
            onClick={() => end.mutate(undefined)}
          >
            {texts.account.end}
          </Button>
        )}
      </Group>
      {userAgent && (
        <div>
          <Button size="compact-xs" variant="subtle" ml={-7} aria-expanded={raw} onClick={() => setRaw(!raw)}>
            {texts.account.rawAgent}
          </Button>
          {raw && (
            <Code block className="breaks">
              {userAgent}
            </Code>
          )}
        </div>
      )}
      {end.error && <Problem error={end.error} />}
    </Stack>
  )
}

function EndOthers({ count }: { count: number }) {
  const [asking, setAsking] = useState(false)
  const end = useWrite(() => sk.sessions.endOthers(), { changes: [['sessions'], ['me']] })
  return (
    <div>
      <Button color="red" variant="outline" onClick={() => setAsking(true)}>
        {texts.account.endOthers(count)}
      </Button>
      <Dialog opened={asking} onClose={() => setAsking(false)} title={texts.account.endOthers(count)}>
        <Stack>
          <Text size="sm">{texts.account.endOthersHelp}</Text>
          <DangerActions
            write={end}
            label={texts.account.end}
            onCancel={() => setAsking(false)}
            onConfirm={() => end.mutate(undefined, { onSuccess: () => setAsking(false) })}
          />
        </Stack>
      </Dialog>
    </div>
  )
}
