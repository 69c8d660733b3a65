// What each mail says: plain text, in English. Words of others, such as the name of a store, stand in quotes and without
// anything that a mail program would turn into a link.

export type MailData = Record<string, string>

type Letter = { subject: string; text: string }
type Write = (data: MailData, link: string) => Letter

/** The page that the link of a mail leads to, with the mail's token behind it. */
const PAGES = { reset: '/reset', confirm: '/confirm', invitation: '/invitation' } as const

const NOT_YOU = `If this was not you, set a new password at once: that ends every session of your account.`

const NOT_YOU_AT_PROVIDER = `It was done by single sign-on. If this was not you, secure your account at your identity provider, then sign in here and end the session you do not know.`
/** What has become of a second factor. */
const FACTOR_CHANGES = {
  totp_added: 'An authenticator app was set up for your account.',
  totp_removed: 'The authenticator app was removed from your account.',
  passkey_added: 'A passkey was added to your account.',
  passkey_removed: 'A passkey was removed from your account.',
  codes_replaced: 'New recovery codes were made for your account, and the ones before no longer work.',
  code_used: 'A recovery code was used to sign in to your account. Each code works once.',
  guessed: 'Somebody has your password, and has entered too many wrong codes after it.',
  reset: 'The second factor of your account was removed, and every session has ended: sign in with your password.',
}
export type FactorChange = keyof typeof FACTOR_CHANGES

const TEXTS = {
  reset: (_, link) => ({
    subject: 'Set a new password',
    text: `Somebody, we hope you, asked for a new password for the account with this e-mail address. To set it, open this link within an hour:

${link}

The link works once. If you did not ask for it, do nothing: your password stays as it is.`,
  }),
  confirm: (_, link) => ({
    subject: 'Confirm your e-mail address',
    text: `Somebody, we hope you, gave this e-mail address for their account. To confirm that it is yours, open this link within three days:

${link}

If you did not give it, do nothing, and above all do not confirm it: the account would then have your address, and an account of yours that you never confirmed would lose it.`,
  }),
  invitation: ({ store = '', role = '' }, link) => ({
    subject: `You are invited to ${quoted(store)}`,
    text: `You are invited to the store ${quoted(store)} as ${role}. To accept, open this link within seven days:

${link}

If you do not know the store, do nothing.`,
  }),
  password_changed: ({ at = '', ip = '' }) => ({
    subject: 'Your password was changed',
    text: `The password of your account was changed on ${moment(at)}, from the address ${ip}.

${NOT_YOU}`,
  }),
  email_changed: ({ at = '' }) => ({
    subject: 'The e-mail address of your account was changed',
    text: `Since ${moment(at)} your account has another e-mail address. You sign in with that one, and this one gets no more mail about the account.

If this was not you, somebody else has your password. Ask the operator of the service for help.`,
  }),
  email_lost: ({ at = '' }) => ({
    subject: 'This e-mail address was confirmed for another account',
    text: `On ${moment(at)} somebody confirmed this e-mail address for their account. An older account had it too, but had never confirmed it, and is now without an e-mail address.

If the older account is yours and you are still signed in to it, give it another address there.`,
  }),
  second_factor: ({ at = '', ip = '', change = '' }) => ({
    subject: 'The second factor of your account',
    text: `${FACTOR_CHANGES[change as FactorChange]} This was done on ${moment(at)}${ip === '' ? ' by the operator of the service' : `, from the address ${ip}`}.

If this was not you, set a new password at once, which ends every session of your account, and ask the operator of the service for help.`,
  }),
  new_sign_in: ({ at = '', ip = '', client = '', method = '' }) => ({
    subject: 'A sign-in from a new place',
    text: `Somebody signed in to your account on ${moment(at)}, from the address ${ip}, from which nobody had signed in before${client === '' ? '' : `, with ${quoted(client)}`}.

${method === 'oidc' ? NOT_YOU_AT_PROVIDER : NOT_YOU}`,
  }),
  provider_linked: ({ at = '', ip = '', provider = '' }) => ({
    subject: 'You can now sign in with your identity provider',
    text: `On ${moment(at)} somebody signed in at ${quoted(provider)}, which has confirmed that this e-mail address is theirs, and came from there to us, from the address ${ip}. Since the address of your account here is confirmed too, the two now belong together: you can sign in with that provider, and with your password as before.

If this was not you, secure your account at that provider and ask the people who run this service for help.`,
  }),
  key_leaked: ({ key = '', store = '', start = '', outcome = '' }) => ({
    subject: `An API key of ${quoted(store)} has leaked`,
    text: `The secret of the API key ${quoted(key)} (${start}…) of the store ${quoted(store)} was found where it should not be. ${outcome}

Find out what the key was used for, and replace it wherever it is still needed.`,
  }),
  key_expiring: ({ key = '', store = '', start = '', days = '', at = '' }) => ({
    subject: `An API key of ${quoted(store)} ends in ${days === '1' ? 'a day' : `${days} days`}`,
    text: `The API key ${quoted(key)} (${start}…) of the store ${quoted(store)} ends on ${moment(at)}. Whatever still uses it then stops working.

Create a new key in its place, or set a later end.`,
  }),
} satisfies Record<string, Write>

export type MailKind = keyof typeof TEXTS

export function writeLetter(kind: MailKind, data: MailData, publicUrl: string, token: string | null): Letter {
  const page = kind in PAGES ? PAGES[kind as keyof typeof PAGES] : ''
  const write: Write = TEXTS[kind]
  const { subject, text } = write(data, `${publicUrl}${page}#token=${token}`)
  return { subject, text: `${text}\n\n-- \nStorekeeper, ${publicUrl}\n` }
}

/** Mail programs turn "shop.example/x" into a link, so a dot, a colon, a slash or an @ inside a word becomes a space. */
function quoted(words: string): string {
  return `"${words.replace(/[.:/@\\]+(?=\S)/g, ' ').replace(/["\p{Cc}]/gu, ' ')}"`
}

const TIME = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' })

/** "16 November 2026 at 09:30 UTC". */
function moment(iso: string): string {
  return `${TIME.format(new Date(iso))} UTC`
}
