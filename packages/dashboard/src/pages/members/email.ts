import type { Member } from '@storekeeper/client'
import { useSettings } from '../../app/client.ts'
import { texts } from '../../texts.ts'

/** The e-mail address of a member as it is shown. Where the service sends mail, one that nobody has confirmed says so. */
export function useMemberEmail({ email, emailVerified }: Member): string | null {
  const mail = useSettings()?.mail
  return email && mail && !emailVerified ? texts.members.unconfirmed(email) : email
}
