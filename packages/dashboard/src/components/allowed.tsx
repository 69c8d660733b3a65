// A button for what needs a permission. Without it the button is there, off, and says what it needs.

import { Button, type ButtonProps, Tooltip } from '@mantine/core'
import type { ComponentPropsWithoutRef } from 'react'
import { useMay } from '../app/me.ts'
import { texts } from '../texts.ts'

type Props = ButtonProps & ComponentPropsWithoutRef<'button'> & { storeId: string; permission: string }

export function AllowedButton({ storeId, permission, ...button }: Props) {
  const allowed = useMay(storeId)(permission)
  if (allowed) return <Button {...button} />
  // Not `disabled`: a disabled button has no tooltip, and no place in the order of the keyboard.
  return (
    <Tooltip label={texts.app.needs(permission)} events={{ hover: true, focus: true, touch: true }}>
      <Button {...button} aria-disabled data-disabled onClick={(event) => event.preventDefault()} />
    </Tooltip>
  )
}
