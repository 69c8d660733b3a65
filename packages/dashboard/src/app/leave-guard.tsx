// Asks before a click on a link of the dashboard loses what was typed and not saved.

import { useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { AskBeforeLeaving } from '../components/dialog.tsx'
import { askedBefore, onAsk } from './unsaved.ts'

/** The path of a click on a link within the dashboard, in this tab. */
function pathOf({ target, button, ctrlKey, metaKey, shiftKey, altKey }: MouseEvent): string | null {
  const link = (target as Element).closest<HTMLAnchorElement>('a[href]')
  if (!link || button !== 0 || ctrlKey || metaKey || shiftKey || altKey || link.target || link.download) return null
  const { origin, pathname, search } = new URL(link.href)
  const isOwn = origin === location.origin && /^\/(stores|account)\b/.test(pathname)
  return isOwn && pathname !== location.pathname ? pathname + search : null
}

export function LeaveGuard() {
  const [, navigate] = useLocation()
  const [wanted, setWanted] = useState<string | null>(null)
  useEffect(() => {
    onAsk(setWanted)
    const onClick = (event: MouseEvent) => {
      const path = pathOf(event)
      if (path === null || !askedBefore(path)) return
      event.preventDefault()
      event.stopPropagation()
    }
    // Before the link itself hears of it.
    document.addEventListener('click', onClick, { capture: true })
    return () => {
      onAsk(null)
      document.removeEventListener('click', onClick, { capture: true })
    }
  }, [])
  return (
    <AskBeforeLeaving
      opened={wanted !== null}
      onStay={() => setWanted(null)}
      onLeave={() => {
        setWanted(null)
        if (wanted !== null) navigate(wanted)
      }}
    />
  )
}
