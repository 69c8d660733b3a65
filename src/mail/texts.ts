// What each mail says: plain text, in English. Words of others, such as the name of a store, stand in quotes and without
// anything that a mail program would turn into a link.

export type MailData = Record<string, string>

type Letter = { subject: string; text: string }
type Write = (data: MailData, link: string) => Letter

/** The page that the link of a mail leads to, with the mail's token behind it. */
const PAGES = { reset: '/reset', confirm: '/confirm', invitation: '/invitation' } as const

const NOT_YOU = `If this wasn't you, set a new password right away. That signs you out everywhere.`

const NOT_YOU_AT_PROVIDER = `Single sign-on was used. If this wasn't you, secure your account at your identity provider first, then sign in here and end the session you don't recognize.`
/** What has become of a second factor. */
const FACTOR_CHANGES = {
  totp_added: 'An authenticator app was set up for your account.',
  totp_removed: 'The authenticator app was removed from your account.',
  passkey_added: 'A passkey was added to your account.',
  passkey_removed: 'A passkey was removed from your account.',
  codes_replaced: 'New recovery codes were generated for your account. The previous ones no longer work.',
  code_used: 'A recovery code was used to sign in to your account. Each code works only once.',
  guessed: 'Someone who knows your password entered too many wrong codes for your account.',
  reset:
    'The second factor was removed from your account and you were signed out everywhere. Sign in with your password.',
}
export type FactorChange = keyof typeof FACTOR_CHANGES

const TEXTS = {
  reset: (_, link) => ({
    subject: 'Set a new password',
    text: `We received a request to reset the password of your account. To set a new password, open this link within an hour:

${link}

The link works once. If you didn't request this, you can ignore this e-mail: your password stays the same.`,
  }),
  confirm: ({ at = '', ip = '', created = '' }, link) => ({
    subject: 'Confirm your e-mail address',
    text: `This e-mail address was entered on ${moment(at)} from the IP address ${ip}, for the account created on ${moment(created)}. If that was you, please confirm it by opening this link within three days:

${link}

If it wasn't you, please don't open the link, and ignore this e-mail. Confirming would give your address to someone else's account, and if you have an account with this address that you never confirmed, it would lose it.`,
  }),
  invitation: ({ store = '', role = '' }, link) => ({
    subject: `You're invited to ${quoted(store)}`,
    text: `You have been invited to join the store ${quoted(store)} as ${role}. To accept, open this link within seven days:

${link}

If you don't know this store, you can ignore this e-mail.`,
  }),
  password_changed: ({ at = '', ip = '' }) => ({
    subject: 'Your password was changed',
    text: `The password of your account was changed on ${moment(at)} from the IP address ${ip}.

${NOT_YOU}`,
  }),
  email_changed: ({ at = '' }) => ({
    subject: 'The e-mail address of your account was changed',
    text: `The e-mail address of your account was changed on ${moment(at)}. From now on, sign in with the new address. We won't send any more mail about the account to this one.

If this wasn't you, someone else knows your password. Please contact the operator of this service.`,
  }),
  email_lost: ({ at = '' }) => ({
    subject: 'This e-mail address was confirmed for another account',
    text: `On ${moment(at)}, this e-mail address was confirmed for another account. An older account used it as well, but never confirmed it, and no longer has an e-mail address.

If the older account is yours and you are still signed in to it, you can add another address there.`,
  }),
  second_factor: ({ at = '', ip = '', change = '' }) => ({
    subject: 'Your second factor',
    text: `${FACTOR_CHANGES[change as FactorChange]} This happened on ${moment(at)}${ip === '' ? ' and was done by the operator of this service' : ` from the IP address ${ip}`}.

If this wasn't you, set a new password right away, which signs you out everywhere, and contact the operator of this service.`,
  }),
  new_sign_in: ({ at = '', ip = '', client = '', method = '' }) => ({
    subject: 'New sign-in to your account',
    text: `Your account was signed in to from a new IP address, ${ip}, on ${moment(at)}${client === '' ? '' : `, with ${quoted(client)}`}.

${method === 'oidc' ? NOT_YOU_AT_PROVIDER : NOT_YOU}`,
  }),
  provider_linked: ({ at = '', ip = '', provider = '', password = 'kept' }) => ({
    subject: 'You can now sign in with your identity provider',
    text: `On ${moment(at)}, a user of ${quoted(provider)} with this e-mail address signed in here from the IP address ${ip}. The address is confirmed both there and here, so we linked the two accounts: you can now sign in with that provider${password === 'kept' ? ', or with your password as before' : ''}.${password === 'kept' ? '' : ' The password the account had here no longer works, and all its sessions have ended, because we could not be sure that you had created it.'}

If this wasn't you, secure your account at that provider and contact the operator of this service.`,
  }),
  key_leaked: ({ key = '', store = '', start = '', outcome = '', max = '' }) => ({
    subject: `An API key of ${quoted(store)} has leaked`,
    text: `The secret of the API key ${quoted(key)} (${start}…) of the store ${quoted(store)} was reported as leaked. ${outcome}

Check what the key was used for, and replace it wherever it is still needed.${max === '' ? '' : `\n\n${noMoreAboutLeaks(max)}`}`,
  }),
  key_expiring: ({ key = '', store = '', start = '', days = '', at = '' }) => ({
    subject: `An API key of ${quoted(store)} expires in ${days === '1' ? 'a day' : `${days} days`}`,
    text: `The API key ${quoted(key)} (${start}…) of the store ${quoted(store)} expires on ${moment(at)}. Anything that still uses it will stop working then.

Create a new key to replace it, or set a later expiry date.`,
  }),
  keys_expiring: ({ keys = '[]', count = '', store = '', days = '', max = '' }) => ({
    subject: `${count} API keys of ${quoted(store)} expire in ${days === '1' ? 'a day' : `${days} days`}`,
    text: `${count} API keys of the store ${quoted(store)} expire soon. Anything that still uses one of them will stop working then.

${listed(JSON.parse(keys), Number(count))}

Create new keys to replace them, or set a later expiry date. You get at most ${max} mails a day about the keys of a store: the store's list of keys shows when each of them expires.`,
  }),
} satisfies Record<string, Write>

/** The last of a day's mails about leaked keys of a store. */
function noMoreAboutLeaks(max: string): string {
  return `You get at most ${max} mails a day about leaked keys of a store, and this is the last one for now. If more of its keys leak, only the store's events in the dashboard and the API show it.`
}

type ExpiringKey = { name: string; start: string; at: string }

function listed(keys: ExpiringKey[], count: number): string {
  const lines = keys.map(({ name, start, at }) => `- ${quoted(name)} (${start}…): ${moment(at)}`)
  return [...lines, ...(count > keys.length ? [`- and ${count - keys.length} more`] : [])].join('\n')
}

export type MailKind = keyof typeof TEXTS

export function writeLetter(
  kind: MailKind,
  data: MailData,
  { name, publicUrl }: { name: string; publicUrl: string },
  token: string | null,
): Letter {
  const page = kind in PAGES ? PAGES[kind as keyof typeof PAGES] : ''
  const write: Write = TEXTS[kind]
  const { subject, text } = write(data, `${publicUrl}${page}#token=${token}`)
  return { subject, text: `${text}\n\n-- \n${name}, ${publicUrl}\n` }
}

/**
 * Mail programs turn "shop.example/x" into a link, so a dot, a colon, a slash or an @ inside a word becomes a space, and so does
 * whatever looks like one, or is one in the name of a host.
 */
function quoted(words: string): string {
  return `"${words
    .normalize('NFKC')
    .replace(/[.:/@\\。∶∕⁄]+(?=\S)/g, ' ')
    .replace(/["\p{Cc}]/gu, ' ')}"`
}

/** Made for the first mail with a time in it: making it costs a start 30 ms. */
let time: Intl.DateTimeFormat | undefined

/** "16 November 2026 at 09:30 UTC". */
function moment(iso: string): string {
  time ??= new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' })
  return `${time.format(new Date(iso))} UTC`
}
