// Opens the dialog of a once-only secret for any page (`useSecret`), and shows what was made in this browser and never
// confirmed.

import { Alert, Button, Group, Text } from '@mantine/core'
import { isStorekeeperError } from '@storekeeper/client'
import { KeyRound } from 'lucide-react'
import { createContext, type ReactNode, useCallback, useContext, useMemo, useState, useSyncExternalStore } from 'react'
import { useLocation } from 'wouter'
import { SecretDialog, type SecretState } from '../components/secret-dialog.tsx'
import { fromNow } from '../components/time.tsx'
import { texts } from '../texts.ts'
import { withSession } from './client.ts'
import { useMe } from './me.ts'
import { notes } from './notes.ts'
import { paths } from './paths.ts'
import { queryClient } from './query.ts'
import { MAX_SHOWN, madeWithoutSecret, type Note, reveal, type SecretCall } from './secrets.ts'

/** Resolves with the id of what was made once the dialog is closed; rejects when the service refused. */
type OpenSecret = (call: SecretCall) => Promise<string>
const SecretContext = createContext<OpenSecret | null>(null)

export function useSecret(): OpenSecret {
  const open = useContext(SecretContext)
  if (!open) throw new Error('useSecret is used outside of SecretProvider')
  return open
}

type Opened = { note: Note; state: SecretState; madeId: string | null; settle: Settle | null }
type Settle = { resolve(id: string): void; reject(error: unknown): void }

const KINDS = {
  'keys.create': 'key',
  'keys.rotate': 'key',
  'webhooks.create': 'webhook',
  'webhooks.rotate': 'webhook',
  'serviceTokens.create': 'serviceToken',
  'invitations.create': 'invitation',
} as const

export function SecretProvider({ children }: { children: ReactNode }) {
  const userId = useMe().data?.user.id
  const [, navigate] = useLocation()
  const [opened, setOpened] = useState<Opened | null>(null)
  const run = useCallback(async (note: Note, settle: Settle | null) => {
    setOpened({ note, settle, madeId: null, state: { is: 'sending' } })
    try {
      const { id, secret } = await withSession(() => reveal(note))
      notes.update({ ...note, shown: note.shown + 1, madeId: id })
      setOpened({ note, settle, madeId: id, state: { is: 'shown', secret } })
      await queryClient.invalidateQueries()
    } catch (error) {
      const madeId = madeWithoutSecret(error)
      if (madeId !== null) setOpened({ note, settle, madeId, state: { is: 'gone' } })
      else if (isRefused(error)) {
        notes.remove(note)
        setOpened(null)
        settle?.reject(error)
      } else setOpened({ note, settle, madeId: null, state: { is: 'lost', error } })
    }
  }, [])
  const open = useMemo<OpenSecret>(
    () => (call) =>
      new Promise((resolve, reject) => {
        const note = {
          ...call,
          userId: userId ?? '',
          idempotencyKey: crypto.randomUUID(),
          madeAt: Date.now(),
          shown: 0,
        }
        notes.add(note)
        void run(note, { resolve, reject })
      }),
    [userId, run],
  )
  const close = () => {
    setOpened(null)
    if (opened?.madeId) opened.settle?.resolve(opened.madeId)
  }
  return (
    <SecretContext value={open}>
      <Unconfirmed userId={userId} openedKey={opened?.note.idempotencyKey} onShow={(note) => void run(note, null)} />
      {children}
      {opened && (
        <SecretDialog
          state={opened.state}
          kind={KINDS[opened.note.operation]}
          label={opened.note.label}
          onRetry={() => void run(opened.note, opened.settle)}
          onRotate={
            KINDS[opened.note.operation] === 'key' && opened.madeId
              ? () => {
                  notes.remove(opened.note)
                  setOpened(null)
                  navigate(paths.rotateKey(opened.note.storeId, opened.madeId as string))
                }
              : null
          }
          onClose={close}
          onDone={() => {
            notes.remove(opened.note)
            close()
          }}
        />
      )}
    </SecretContext>
  )
}

/** The service has said no, and will say so again: nothing was made. */
function isRefused(error: unknown): boolean {
  if (!isStorekeeperError(error)) return false
  const { status = 0, code } = error
  return status >= 400 && status < 500 && status !== 429 && code !== 'idempotency_in_progress'
}

type UnconfirmedProps = { userId: string | undefined; openedKey: string | undefined; onShow: (note: Note) => void }

function Unconfirmed({ userId, openedKey, onShow }: UnconfirmedProps) {
  const unconfirmed = useSyncExternalStore(notes.subscribe, notes.all).filter(
    (note) => note.userId === userId && note.idempotencyKey !== openedKey,
  )
  return unconfirmed.map((note) => (
    <Alert key={note.idempotencyKey} color="yellow" icon={<KeyRound size={20} aria-hidden />} mb="md">
      <Group justify="space-between">
        <Text size="sm">
          {texts.secret.unconfirmed[KINDS[note.operation]](note.label, fromNow(new Date(note.madeAt)))}
        </Text>
        <Group gap="xs">
          <Button size="xs" onClick={() => onShow(note)}>
            {texts.secret.showAgain(Math.max(0, MAX_SHOWN + 1 - note.shown))}
          </Button>
          <Button size="xs" variant="default" onClick={() => notes.remove(note)}>
            {texts.secret.confirm[KINDS[note.operation]]}
          </Button>
        </Group>
      </Group>
    </Alert>
  ))
}
