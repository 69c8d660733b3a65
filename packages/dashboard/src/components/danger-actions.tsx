// The end of a dialog that asks before something that cannot be undone: what went wrong, the way back, and the red button.

import { Button, Group } from '@mantine/core'
import { texts } from '../texts.ts'
import { Problem } from './problem.tsx'

type Props = {
  write: { error: Error | null; isPending: boolean }
  label: string
  disabled?: boolean
  /** What may help when it was refused. */
  retry?: () => void
  onCancel: () => void
  onConfirm: () => void
}

export function DangerActions({ write, label, disabled = false, retry, onCancel, onConfirm }: Props) {
  return (
    <>
      {write.error && <Problem error={write.error} {...(retry ? { retry } : {})} />}
      <Group justify="flex-end">
        <Button variant="default" onClick={onCancel}>
          {texts.app.cancel}
        </Button>
        <Button color="red" disabled={disabled} loading={write.isPending} onClick={onConfirm}>
          {label}
        </Button>
      </Group>
    </>
  )
}
