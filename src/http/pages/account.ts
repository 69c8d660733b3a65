// The pages where a person signs in, sets a new password, confirms an e-mail and accepts an invitation. A link that was
// mailed leads here with its token behind the `#`, which no browser sends to a server and no log sees. Each page has one
// script (account-scripts.ts), and without it says so.

import type { Instance } from '../../instance.ts'
import { html, layout, type Rendered } from './layout.ts'

/** What the service can do depends on its settings. */
export type Offers = Pick<Instance, 'mail' | 'oidc'>
type AccountPage = { title: string; body: (offers: Offers) => string }

export const ACCOUNT_PAGES = {
  'sign-in': { title: 'Sign in', body: signInBody },
  reset: { title: 'Set a new password', body: resetBody },
  confirm: { title: 'Confirm your e-mail address', body: confirmBody },
  invitation: { title: 'Accept an invitation', body: invitationBody },
} satisfies Record<string, AccountPage>
export type AccountPageName = keyof typeof ACCOUNT_PAGES

export function accountPage(name: AccountPageName, offers: Offers): Rendered {
  const { title, body } = ACCOUNT_PAGES[name]
  return html(
    200,
    layout(
      `${title} · Storekeeper`,
      `<main class="narrow"><h1>${title}</h1>
<noscript><p>This page needs JavaScript. Enable it and reload the page.</p></noscript>
<p id="message" role="alert" tabindex="-1" hidden></p>
${body(offers)}</main><script src="/scripts/${name}.js" defer></script>`,
    ),
    'with script',
  )
}

const EMAIL = `<label for="email">E-mail</label>
<input id="email" name="email" type="email" autocomplete="username" maxlength="254" required>`

const PASSWORD = `<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="256" required>`

const HINT = 'At least 15 characters. A few unrelated words make a good password.'

/** The second step of a sign-in. */
const SECOND_STEP = `<form id="code-form" hidden><label for="code">Code</label>
<input id="code" name="code" autocomplete="one-time-code" autocapitalize="none" spellcheck="false" maxlength="40" aria-describedby="code-hint" required>
<p id="code-hint" class="quiet small">The six-digit code from your authenticator app, or one of your recovery codes.</p><button>Continue</button></form>
<form id="passkey-form" hidden><button class="plain">Use your passkey</button></form>`

/** A link, which needs no script. Empty where no identity provider is configured. */
function singleSignOn({ oidc }: Offers, returnTo: string): string {
  return oidc
    ? `<a class="button plain" href="/v1/auth/oidc/start?returnTo=${returnTo}">Continue with single sign-on</a>`
    : ''
}

function signInBody(offers: Offers): string {
  return `<form id="enter" hidden>${EMAIL}${PASSWORD}<button>Sign in</button></form>
<form id="passkey-alone" hidden><button class="plain">Sign in with a passkey</button></form>
<div id="sso">${singleSignOn(offers, '/sign-in')}</div>
${SECOND_STEP}
<p id="forgotten" hidden><a href="/reset">Forgot your password?</a></p>
<form id="leave" hidden><button>Sign out</button></form>`
}

function resetBody({ mail }: Offers): string {
  const ask = mail
    ? `<form id="ask" hidden><p>Enter the e-mail address of your account and we'll send you a link.</p>${EMAIL}<button>Send link</button></form>`
    : '<p id="ask" hidden>This service does not send e-mail. Ask its operator for a link to set a new password.</p>'
  return `${ask}
<form id="set" hidden><label for="password">New password</label>
<input id="password" name="password" type="password" autocomplete="new-password" minlength="15" maxlength="256" aria-describedby="hint" required>
<p id="hint" class="quiet small">${HINT}</p><button>Set password</button></form>
<p id="done" hidden><a href="/sign-in">Sign in</a></p>`
}

function confirmBody(): string {
  return `<form id="confirm" hidden><p>Only confirm this address if you entered it for your account yourself.</p>
<button>Confirm address</button></form>
<form id="enter" hidden>${EMAIL}${PASSWORD}<button>Sign in and confirm</button></form>
${SECOND_STEP}
<p id="done" hidden><a href="/sign-in">Sign in</a></p>`
}

function invitationBody(offers: Offers): string {
  return `<form id="accept" hidden><p id="who"></p><button>Accept invitation</button></form>
<form id="leave" hidden><button class="plain">Use another account</button></form>
<form id="enter" hidden><fieldset><legend>To accept, sign in with the e-mail address the invitation was sent to.</legend>
<label><input type="radio" name="account" value="sign-in" checked> I have an account</label>
<label><input type="radio" name="account" value="sign-up"> I'm new here</label></fieldset>
${EMAIL}${PASSWORD}<p id="hint" class="quiet small" hidden>${HINT}</p>
<div id="named" hidden><label for="name">Name</label><input id="name" name="name" autocomplete="name" maxlength="100"></div>
<button>Accept invitation</button></form>
${SECOND_STEP}
<div id="sso" hidden>${singleSignOn(offers, '/invitation')}</div>`
}
