// Passwords: argon2id with m=19456 KiB, t=2, p=1. A hash takes some 30 ms of a core and 19 MB, so only a few are made
// at once and the rest wait; above a bound requests are refused with 503. Accounts and places take turns, so that nobody
// waits for all that another has asked for.

import { hash, verify } from '@node-rs/argon2'
import { siteOf } from '../auth/ip.ts'
import { SECOND } from '../core/clock.ts'
import type { Fault } from '../core/errors.ts'
import { randomBytes } from '../crypto/random.ts'
import { newFairSemaphore } from '../limits/fair-semaphore.ts'

const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
const slots = newFairSemaphore({ inside: 4, forOthers: 1, waiting: 200, waitMs: 30 * SECOND })

/** Whose turn it is: that of a user who is signed in, or of the site that somebody else comes from. */
export type PasswordTurn = { userId: string } | { ip: string }

export async function inPasswordTurn<T>(turn: PasswordTurn, work: () => Promise<T>): Promise<T> {
  const leave = await slots.enter('userId' in turn ? turn.userId : siteOf(turn.ip))
  return work().finally(leave)
}

export function hashPassword(turn: PasswordTurn, password: string): Promise<string> {
  return inPasswordTurn(turn, () => hash(password.normalize('NFC'), COST))
}

/** Takes as long for a user who does not exist: then the password is compared with a random hash. */
export async function passwordMatches(stored: string | null, password: string): Promise<boolean> {
  decoy ??= hash(Buffer.from(randomBytes(32)).toString('hex'), COST)
  const against = stored ?? (await decoy)
  const matches = await verify(against, password.normalize('NFC'))
  return matches && stored !== null
}
let decoy: Promise<string> | undefined

/** Words that the commonest long passwords are built from. */
const COMMON =
  /(password|passwort|passw0rd|p@ssw[o0]rd|qwertyuiop|qwertz|qwerty|asdfghjkl|asdf|zxcvbnm|zxcvbn|1q2w3e4r5t|1q2w3e4r|1qaz2wsx|qazwsx|iloveyou|letmein|welcome|administrator|admin|changeme|default|secret|monkey|dragon|football|baseball|sunshine|princess|superman|batman|trustno1|starwars|master|login|access|hello|whatever|storekeeper|abcdefghijklmnopqrstuvwxyz|abcdefgh|abcdef|abc)/g
const MIN_LEFT = 6

/** After common words, runs and repeats are removed, enough different characters must be left. */
export function checkPassword(password: string, email: string, pointer: string, faults: Fault[]): void {
  const plain = password.toLowerCase()
  const mailbox = email.toLowerCase().split('@')[0] as string
  const left = plain
    .replaceAll(mailbox.length > 2 ? mailbox : '\0', '')
    .replace(COMMON, '')
    .replace(/(012345678?9?|123456?7?8?9?0?|987654?3?2?1?0?|!@#\$%\^?&?\*?\(?\)?)/g, '')
    .replace(/(.+?)\1{2,}/gs, '$1')
    .replace(/\s/g, '')
  if (new Set(left).size >= MIN_LEFT) return
  faults.push({
    pointer,
    code: 'too_common',
    detail:
      'This password is among the first that anyone would try. A few words that do not belong together are better.',
    example: 'four words nobody else would join',
  })
}
