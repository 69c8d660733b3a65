// The scripts of the account pages: plain JavaScript for any browser of the last years, as text, so that the compiler's
// output is complete by itself. They load nothing and keep nothing (but one, while
// the browser is at the identity provider); the session is in a cookie that no script can read.

import type { AccountPageName } from './account.ts'

/** What all four share. The token leaves the address bar at once, and so the history of the browser. */
const COMMON = `'use strict';
const $ = (id) => document.getElementById(id);
let token = new URLSearchParams(location.hash.slice(1)).get('token');
if (location.hash) history.replaceState(null, '', location.pathname);

const WORDS = {
  reset_not_found: 'This link no longer works. Each link works once, within an hour, and only the newest one is valid. Request a new one.',
  confirmation_not_found: 'This link no longer works. Each link works once, within three days, and only the newest one is valid.',
  sign_in_required: 'Sign in to the account that this link was sent for, with the e-mail address that it has now. If you have just signed up, open the link in the browser where you did.',
  invalid_credentials: 'The e-mail address or the password is wrong.',
  invalid_code: 'This code is wrong or was already used. Wait for the next one and try again.',
  invalid_passkey: 'This passkey was not accepted.',
  invalid_challenge: 'Signing in took too long. Start again.',
  rate_limited: 'Too many attempts. Wait a few minutes, then try again.',
  email_taken: 'There is already an account with this e-mail address. Sign in instead.',
  sign_up_closed: 'This invitation no longer works, so you can\\'t create an account with it. Ask for a new one.',
  invitation_not_found: 'This invitation no longer works. It may have been used or withdrawn, or it has expired. Ask for a new one.',
  invitation_mismatch: 'This invitation is for a different e-mail address. Sign in with the address it was sent to.',
  already_member: 'You are already a member of this store.',
};

async function send(method, path, body) {
  try {
    const headers = body ? { 'content-type': 'application/json' } : {};
    const response = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
    const text = await response.text();
    const answer = text ? JSON.parse(text) : {};
    return { ok: response.ok, answer, words: response.ok ? '' : wordsFor(answer) };
  } catch {
    return { ok: false, answer: {}, words: 'Can\\'t reach the service. Check your connection, then try again.' };
  }
}

function wordsFor(problem) {
  if (problem.errors) return problem.errors.map((fault) => fault.detail).join(' ');
  return WORDS[problem.code] || problem.detail || 'Something went wrong. Try again.';
}

function say(words) {
  $('message').textContent = words;
  $('message').hidden = words === '';
  if (words) $('message').focus();
}

function show(...ids) {
  for (const id of ids) $(id).hidden = false;
  const field = ids.map((id) => $(id).querySelector('input:not([type=radio])')).find(Boolean);
  if (field && $('message').hidden) field.focus();
}

function hide(...ids) {
  for (const id of ids) $(id).hidden = true;
}

/** One submission at a time. */
function onSubmit(id, work) {
  $(id).addEventListener('submit', async (event) => {
    event.preventDefault();
    const button = $(id).querySelector('button');
    button.disabled = true;
    say('');
    try {
      await work(Object.fromEntries(new FormData($(id))));
    } finally {
      button.disabled = false;
    }
  });
}

const nameOf = (user) => user.email || user.pendingEmail || user.name || user.id;
`

/** Passkeys, and the second step of a sign-in. */
const SECOND_STEP = `
const hasPasskeys = typeof PublicKeyCredential === 'function' && 'parseRequestOptionsFromJSON' in PublicKeyCredential;

async function usePasskey(options) {
  try {
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
    return (await navigator.credentials.get({ publicKey })).toJSON();
  } catch {
    say('No passkey was used.');
    return null;
  }
}

/** The answer to a right password, when the account has a second factor. */
let step = null;

function askSecond(answer) {
  step = answer;
  if (step.methods.includes('passkey') && hasPasskeys) show('passkey-form');
  if (step.methods.some((method) => method !== 'passkey')) show('code-form');
}

function onSecond(done, again) {
  const complete = async (given) => {
    const body = { challenge: step.challenge, cookie: true, ...given };
    const { ok, answer, words } = await send('POST', '/v1/auth/second-factor', body);
    if (ok || answer.code === 'invalid_challenge') hide('code-form', 'passkey-form');
    if (ok) return done(answer.user);
    if (answer.code === 'invalid_challenge') again();
    say(words);
  };
  onSubmit('code-form', ({ code }) => complete({ code }));
  onSubmit('passkey-form', async () => {
    const credential = await usePasskey(step.passkey);
    if (credential) await complete({ credential });
  });
}
`

const SIGN_IN = `
function enter() {
  hide('leave');
  show('enter', 'forgotten', 'sso');
  if (hasPasskeys) show('passkey-alone');
}

function entered(user) {
  hide('enter', 'forgotten', 'passkey-alone', 'sso');
  show('leave');
  say('You are signed in as ' + nameOf(user) + '.');
}

onSubmit('enter', async ({ email, password }) => {
  const { ok, answer, words } = await send('POST', '/v1/auth/sign-in', { email, password, cookie: true });
  if (ok) return entered(answer.user);
  if (answer.code !== 'second_factor_required') return say(words);
  hide('enter', 'forgotten', 'passkey-alone', 'sso');
  askSecond(answer);
});

onSubmit('passkey-alone', async () => {
  const options = await send('POST', '/v1/auth/passkey/options');
  if (!options.ok) return say(options.words);
  const credential = await usePasskey(options.answer);
  if (!credential) return;
  const { ok, answer, words } = await send('POST', '/v1/auth/passkey', { credential, cookie: true });
  if (ok) entered(answer.user);
  else say(words);
});

onSecond(entered, enter);

onSubmit('leave', async () => {
  const { ok, words } = await send('POST', '/v1/auth/sign-out');
  if (ok) enter();
  say(ok ? 'You are signed out.' : words);
});

send('GET', '/v1/user').then(({ ok, answer }) => (ok ? entered(answer.user) : enter()));
`

const RESET = `
if (token) show('set');
else show('ask');

onSubmit('set', async ({ password }) => {
  const { ok, answer, words } = await send('POST', '/v1/auth/reset/confirm', { token, newPassword: password });
  if (ok) {
    hide('set');
    show('done');
    say('Your password was changed, and you were signed out everywhere.');
    return;
  }
  if (answer.code === 'reset_not_found') {
    hide('set');
    show('ask');
  }
  say(words);
});

if ($('ask').tagName === 'FORM')
  onSubmit('ask', async ({ email }) => {
    const { ok, words } = await send('POST', '/v1/auth/reset', { email });
    if (ok) hide('ask');
    say(ok ? 'If there is an account with this address, we have sent it a link. The link works for an hour.' : words);
  });
`

const CONFIRM = `
if (token) show('confirm');
else say('This link is incomplete. Open it from the e-mail again.');

async function confirm() {
  const { ok, answer, words } = await send('POST', '/v1/auth/confirm', { token });
  if (ok || answer.code) hide('confirm');
  if (answer.code === 'sign_in_required') show('enter');
  if (ok) show('done');
  say(ok ? 'Your e-mail address is confirmed.' : words);
}

onSubmit('confirm', confirm);

onSubmit('enter', async ({ email, password }) => {
  const { ok, answer, words } = await send('POST', '/v1/auth/sign-in', { email, password, cookie: true });
  if (!ok && answer.code !== 'second_factor_required') return say(words);
  hide('enter');
  if (ok) await confirm();
  else askSecond(answer);
});

onSecond(confirm, () => show('enter'));
`

const INVITATION = `
// While the browser is at the identity provider, the token waits in this tab.
token = token || sessionStorage.getItem('invitation');
sessionStorage.removeItem('invitation');
$('sso').addEventListener('click', () => sessionStorage.setItem('invitation', token));

function enter() {
  hide('accept', 'leave');
  show('enter', 'sso');
}

async function accept() {
  const { ok, answer, words } = await send('POST', '/v1/user/invitations/accept', { token });
  if (ok) hide('accept', 'leave', 'enter', 'sso');
  say(ok ? 'You are now a member of the store "' + answer.store.name + '".' : words);
  return ok;
}

const isNew = () => document.querySelector('input[name=account]:checked').value === 'sign-up';
for (const choice of document.querySelectorAll('input[name=account]'))
  choice.addEventListener('change', () => {
    $('named').hidden = $('hint').hidden = !isNew();
    $('password').autocomplete = isNew() ? 'new-password' : 'current-password';
  });

onSubmit('enter', async ({ email, password, name }) => {
  const person = { email, password, cookie: true };
  if (isNew()) Object.assign(person, { invitation: token }, name.trim() ? { name } : {});
  const { ok, answer, words } = await send('POST', isNew() ? '/v1/auth/sign-up' : '/v1/auth/sign-in', person);
  if (!ok && answer.code !== 'second_factor_required') return say(words);
  hide('enter', 'sso');
  if (ok) await entered(answer.user);
  else askSecond(answer);
});

async function entered(user) {
  if (!(await accept())) offer(user);
}

onSecond(entered, enter);

onSubmit('accept', accept);

onSubmit('leave', async () => {
  const { ok, words } = await send('POST', '/v1/auth/sign-out');
  if (ok) enter();
  else say(words);
});

function offer(user) {
  $('who').textContent = 'You are signed in as ' + nameOf(user) + '.';
  show('accept', 'leave');
}

if (token) send('GET', '/v1/user').then(({ ok, answer }) => (ok ? offer(answer.user) : enter()));
else say('This link is incomplete. Open it from the e-mail again.');
`

export const ACCOUNT_SCRIPTS: Record<AccountPageName, string> = {
  'sign-in': COMMON + SECOND_STEP + SIGN_IN,
  reset: COMMON + RESET,
  confirm: COMMON + SECOND_STEP + CONFIRM,
  invitation: COMMON + SECOND_STEP + INVITATION,
}
