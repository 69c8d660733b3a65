// "/": somebody whom this browser does not know goes to the sign-in, without the pages behind it being loaded first.

import { useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { isSessionEnded, readMe } from './client.ts'
import { recentStores } from './last-store.ts'
import { Shell } from './lazy-shell.ts'
import { paths } from './paths.ts'

/** This browser has opened a store and has not signed out, so it is likely still signed in. */
const isKnown = () => recentStores().length > 0

if (isKnown()) Shell.preload()

export default function Entrance() {
  const [, navigate] = useLocation()
  const [isIn, setIn] = useState(isKnown)
  useEffect(() => {
    if (isIn) return
    readMe().then(
      () => setIn(true),
      // Whatever else is wrong, the pages behind the sign-in can say it.
      (error: unknown) => (isSessionEnded(error) ? navigate(paths.signIn, { replace: true }) : setIn(true)),
    )
  }, [isIn, navigate])
  return isIn ? <Shell /> : null
}
