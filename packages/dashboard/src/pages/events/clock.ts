// Times on the page of events: the reader's own, or UTC. The key `u` switches.

import { useEffect, useState } from 'react'
import { exactTime, localTime, utcTime } from '../../components/time.tsx'

const NAME = 'storekeeper.utc'

export type Clock = { isUtc: boolean; toggle: () => void; show: (at: string) => string; title: (at: string) => string }

export function useClock(): Clock {
  const [isUtc, setUtc] = useState(() => localStorage.getItem(NAME) === 'yes')
  useEffect(() => localStorage.setItem(NAME, isUtc ? 'yes' : 'no'), [isUtc])
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const typing = event.target instanceof Element && event.target.closest('input, textarea, select, [role=dialog]')
      if (event.key === 'u' && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) setUtc((now) => !now)
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
  return { isUtc, toggle: () => setUtc(!isUtc), show: isUtc ? utcTime : localTime, title: exactTime }
}
