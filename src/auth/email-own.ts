// Whose e-mail it is. Whoever signs up may write any address, and a link that was opened proves the mailbox, not the account.

import { fragment } from '../db/sql.ts'

/**
 * Of a row of users: whether the e-mail is known to be the user's own, so that what others sent to it is theirs to see and to end.
 * The provider has verified it, or somebody who was signed in to the account has confirmed it. Without mail nobody can confirm.
 */
export const isEmailOwn = fragment('email_verified_at is not null and (email_proven or issuer is not null)')
