// The button in the header that opens the search, and its shortcut. The search itself is loaded when it is first opened.

import { Button, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { Search } from 'lucide-react'
import { useEffect, useRef } from 'react'
import { lazy } from '../components/lazy.tsx'
import { texts } from '../texts.ts'
import type { Membership } from './me.ts'

const Palette = lazy(() => import('./palette.tsx'), null)
const SHORTCUT = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘K' : 'Ctrl K'

type Props = { stores: Membership[]; storeId: string | undefined; pages: { path: string; label: string }[] }

export function SearchButton(props: Props) {
  const [opened, { open, close }] = useDisclosure(false)
  // The dialog goes with its component, so it cannot give the focus back itself.
  const { current: focus } = useRef<{ before: Element | null }>({ before: null })
  useEffect(() => {
    if (opened) focus.before = document.activeElement
    else if (focus.before instanceof HTMLElement) focus.before.focus()
  }, [opened, focus])
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey) || event.shiftKey || event.altKey) return
      // The browser has this shortcut too.
      event.preventDefault()
      // A dialog that is open wants an answer first.
      if (!document.querySelector('[aria-modal=true]')) open()
    }
    addEventListener('keydown', onKeyDown)
    return () => removeEventListener('keydown', onKeyDown)
  }, [open])
  return (
    <>
      <Button
        className="search-button"
        variant="default"
        size="xs"
        leftSection={<Search size={16} aria-hidden />}
        rightSection={
          <Text span size="xs" c="dimmed" visibleFrom="sm" aria-hidden>
            {SHORTCUT}
          </Text>
        }
        aria-keyshortcuts="Control+K Meta+K"
        aria-haspopup="dialog"
        onMouseEnter={Palette.preload}
        onFocus={Palette.preload}
        onClick={open}
      >
        <span className="search-label">{texts.palette.title}</span>
      </Button>
      {opened && <Palette {...props} onClose={close} />}
    </>
  )
}
