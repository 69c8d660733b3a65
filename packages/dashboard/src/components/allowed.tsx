// A button, and a link in its form, for what needs a permission. Without it they are there, off, and say what they need.

import { Button, type ButtonProps, Tooltip } from '@mantine/core'
import type { ComponentPropsWithoutRef } from 'react'
import { Link } from 'wouter'
import { useMay } from '../app/me.ts'
import { texts } from '../texts.ts'

type Needs = { storeId: string; permission: string }
type Props = ButtonProps & Omit<ComponentPropsWithoutRef<'button'>, keyof ButtonProps> & Needs

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

type LinkProps = ButtonProps & Needs & { href: string }

export function AllowedLink({ storeId, permission, href, ...button }: LinkProps) {
  const allowed = useMay(storeId)(permission)
  return allowed ? (
    <Button component={Link} href={href} {...button} />
  ) : (
    <AllowedButton storeId={storeId} permission={permission} {...button} />
  )
}
