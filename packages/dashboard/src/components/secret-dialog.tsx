// The dialog of a once-only secret. It opens before the request is sent, and stays until somebody has copied the secret or
// says that they have saved it; closed before, it can be opened again from the bar on every page.

import { Alert, Button, Checkbox, Code, Group, Loader, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { useShownSecret } from '../app/unsaved.ts'
import { texts } from '../texts.ts'
import { Copy } from './copy.tsx'
import { Dialog } from './dialog.tsx'
import { Problem } from './problem.tsx'

export type SecretState =
  | { is: 'sending' }
  /** No answer came: it may have been made. */
  | { is: 'lost'; error: unknown }
  | { is: 'shown'; secret: string }
  /** It was made, and its secret can no longer be shown. */
  | { is: 'gone' }

type Props = {
  state: SecretState
  kind: keyof typeof texts.secret.kinds
  label: string
  onRetry: () => void
  /** Gets another secret for what was made, where that is possible. */
  onRotate: (() => void) | null
  onClose: () => void
  onDone: () => void
}

export function SecretDialog({ state, kind, label, onRetry, onRotate, onClose, onDone }: Props) {
  useShownSecret()
  const sending = state.is === 'sending'
  return (
    <Dialog
      opened
      onClose={onClose}
      size="lg"
      title={texts.secret.titles[kind]}
      withCloseButton={!sending}
      closeOnEscape={!sending}
      closeOnClickOutside={false}
    >
      <Stack>
        {sending && (
          <Group role="status">
            <Loader size="sm" aria-hidden />
            <Text>{texts.secret.sending}</Text>
          </Group>
        )}
        {state.is === 'lost' && (
          <>
            <Text>{texts.secret.lost}</Text>
            <Problem error={state.error} />
            <Button onClick={onRetry}>{texts.secret.retry}</Button>
          </>
        )}
        {state.is === 'gone' && (
          <>
            <Alert color="yellow">{texts.secret.gone[kind]}</Alert>
            <Group justify="flex-end">
              <Button variant={onRotate ? 'default' : 'filled'} onClick={onDone}>
                {texts.secret.done}
              </Button>
              {onRotate && <Button onClick={onRotate}>{texts.secret.rotate}</Button>}
            </Group>
          </>
        )}
        {state.is === 'shown' && <Shown secret={state.secret} kind={kind} label={label} onDone={onDone} />}
      </Stack>
    </Dialog>
  )
}

function Shown({ secret, kind, label, onDone }: { secret: string } & Pick<Props, 'kind' | 'label' | 'onDone'>) {
  const [saved, setSaved] = useState(false)
  return (
    <>
      <Text>{texts.secret.shown[kind](label)}</Text>
      <Code block className="secret" data-testid="secret">
        {secret}
      </Code>
      <Group>
        <Copy text={secret} label={texts.secret.copy} variant="filled" size="sm" onCopied={() => setSaved(true)} />
        {kind !== 'invitation' && (
          <Copy
            text={`${texts.secret.variables[kind]}=${secret}`}
            label={texts.secret.copyAsEnv}
            size="sm"
            onCopied={() => setSaved(true)}
          />
        )}
      </Group>
      <Checkbox
        label={texts.secret.saved}
        checked={saved}
        onChange={(event) => setSaved(event.currentTarget.checked)}
      />
      <Group justify="flex-end">
        <Button onClick={onDone} disabled={!saved}>
          {texts.secret.done}
        </Button>
      </Group>
    </>
  )
}
