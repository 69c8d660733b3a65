// A dialog, with a name for its close button. `dirty`: before what was typed in it is lost, it asks. While somebody has to
// sign in again, only the dialog `above` the others can be closed.

import { Button, Group, Modal, type ModalProps, Stack, Text } from '@mantine/core'
import { useEffect, useState } from 'react'
import { useGate } from '../app/session.ts'
import { useTyped } from '../app/unsaved.ts'
import { texts } from '../texts.ts'

type Props = ModalProps & { dirty?: boolean; above?: boolean }
const ABOVE = 300
/** Stays to be seen above a page that is covered (app/cover.ts). */
const UNCOVERED = { reuseTargetNode: false, className: 'uncovered' }

export function Dialog({ dirty = false, above = false, onClose, closeOnEscape = true, ...props }: Props) {
  const [asking, setAsking] = useState(false)
  const covered = useGate() !== null && !above
  useFocusBack()
  useTyped(dirty)
  return (
    <>
      <Modal
        closeButtonProps={{ 'aria-label': texts.app.close }}
        closeOnEscape={closeOnEscape && !covered && !asking}
        trapFocus={!covered && !asking}
        onClose={() => (dirty ? setAsking(true) : onClose())}
        {...(above ? { zIndex: ABOVE, portalProps: UNCOVERED } : {})}
        {...props}
      />
      <AskBeforeLeaving
        opened={asking && props.opened}
        onStay={() => setAsking(false)}
        onLeave={() => {
          setAsking(false)
          onClose()
        }}
      />
    </>
  )
}

/** A dialog that is taken away while it is open gives the focus back to where it was before. */
function useFocusBack(): void {
  const [before] = useState(() => document.activeElement)
  useEffect(
    () => () => {
      const isLost = document.activeElement === null || document.activeElement === document.body
      if (isLost && before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true })
    },
    [before],
  )
}

type AskProps = { opened: boolean; onStay: () => void; onLeave: () => void }

export function AskBeforeLeaving({ opened, onStay, onLeave }: AskProps) {
  return (
    <Modal
      opened={opened}
      onClose={onStay}
      title={texts.app.leave}
      closeButtonProps={{ 'aria-label': texts.app.close }}
      zIndex={ABOVE - 1}
      centered
    >
      <Stack>
        <Text size="sm">{texts.app.leaveHelp}</Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={onLeave}>
            {texts.app.leaveYes}
          </Button>
          <Button data-autofocus onClick={onStay}>
            {texts.app.leaveNo}
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
