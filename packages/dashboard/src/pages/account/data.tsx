// Taking one's data along, and erasing the account.

import { Alert, Button, Group, Loader, Text } from '@mantine/core'
import type { User } from '@storekeeper/client'
import { Download } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { Problem } from '../../components/problem.tsx'
import { Section } from '../../components/section.tsx'
import { texts } from '../../texts.ts'
import { Erase } from './erase.tsx'
import { Incomplete, readExport, saveFile } from './export-file.ts'

export default function Data({ user }: { user: User }) {
  return (
    <>
      <Export />
      <Erase user={user} />
    </>
  )
}

type State =
  | { is: 'idle' }
  | { is: 'reading'; bytes: number }
  | { is: 'saved'; bytes: number }
  | { is: 'cut off' }
  | { is: 'failed'; error: unknown }

function Export() {
  const [state, setState] = useState<State>({ is: 'idle' })
  const running = useRef<AbortController | null>(null)
  useEffect(() => () => running.current?.abort(), [])
  const read = async () => {
    const ending = new AbortController()
    running.current = ending
    setState({ is: 'reading', bytes: 0 })
    try {
      const file = await readExport({
        signal: ending.signal,
        onBytes: (bytes) => setState({ is: 'reading', bytes }),
      })
      saveFile(file, texts.account.exportFile(new Date()))
      setState({ is: 'saved', bytes: file.size })
    } catch (error) {
      if (ending.signal.aborted) setState({ is: 'idle' })
      else setState(error instanceof Incomplete ? { is: 'cut off' } : { is: 'failed', error })
    }
  }
  const reading = state.is === 'reading'
  return (
    <Section title={texts.account.export} help={texts.account.exportHelp}>
      {reading && (
        <Group gap="xs">
          <Loader size="xs" aria-hidden />
          <Text size="sm" aria-live="off">
            {texts.account.exportBytes(state.bytes)}
          </Text>
        </Group>
      )}
      {state.is === 'saved' && (
        <Alert color="green" role="status">
          {texts.account.exportSaved(state.bytes)}
        </Alert>
      )}
      {state.is === 'cut off' && (
        <Alert color="red" role="alert">
          {texts.account.exportCut}
        </Alert>
      )}
      {state.is === 'failed' && <Problem error={state.error} />}
      <Group>
        {reading ? (
          <Button variant="default" onClick={() => running.current?.abort()}>
            {texts.app.cancel}
          </Button>
        ) : (
          <Button variant="default" leftSection={<Download size={16} aria-hidden />} onClick={() => void read()}>
            {texts.account.exportNow}
          </Button>
        )}
      </Group>
    </Section>
  )
}
