// A dialog, with a name for its close button. `dirty`: what was typed in it is not lost by Esc or a click beside it.

import { Modal, type ModalProps } from '@mantine/core'
import { texts } from '../texts.ts'

export function Dialog({ dirty = false, ...props }: ModalProps & { dirty?: boolean }) {
  return (
    <Modal
      closeButtonProps={{ 'aria-label': texts.app.close }}
      closeOnClickOutside={!dirty}
      closeOnEscape={!dirty}
      {...props}
    />
  )
}
