// Somebody has to sign in again above the page they are on: what they want asks for a recent sign-in, the session has
// ended, or they have signed out in another tab, and the page is covered. All calls that wait go on together.

import { useSyncExternalStore } from 'react'
import { cover, uncover } from './cover.ts'

/** From the least to the gravest. */
const REASONS = ['recent', 'ended', 'signed out'] as const
export type Reason = (typeof REASONS)[number]
export type Gate = { reason: Reason; opened: Promise<void>; open(): void; giveUp(error: Error): void }

let gate: Gate | null = null
const listeners = new Set<() => void>()

export function signInAgain(reason: Reason): Promise<void> {
  if (!gate) {
    const { promise, resolve, reject } = withResolvers()
    const open = () => {
      uncover()
      settle(resolve)
    }
    gate = { reason, opened: promise, open, giveUp: (error) => settle(() => reject(error)) }
    tell()
  } else if (REASONS.indexOf(reason) > REASONS.indexOf(gate.reason)) {
    gate = { ...gate, reason }
    tell()
  }
  if (reason === 'signed out') cover()
  return gate.opened
}

function settle(how: () => void): void {
  gate = null
  how()
  tell()
}

/** Nobody is going to sign in again: calls that wait for it fail. */
export function giveUpSignIn(): void {
  gate?.giveUp(new Error('Signed out'))
}

function tell(): void {
  for (const listener of listeners) listener()
}

/** Null while nobody has to sign in again. */
export function useGate(): Gate | null {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => gate,
  )
}

function withResolvers() {
  let [resolve, reject] = [() => {}, (_: Error) => {}]
  const promise = new Promise<void>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}

// ---- another user ----------------------------------------------------------------------------------------------------

const forgetters = new Set<() => void>()

/** Called by whatever keeps something of the user. */
export function onUserChange(forget: () => void): void {
  forgetters.add(forget)
}

/** From now on the page may be somebody else's, or nobody's. */
export function userChanged(): void {
  for (const forget of forgetters) forget()
}

// ---- other tabs -----------------------------------------------------------------------------------------------------

/** Told to the other tabs of this browser: somebody has signed in or out, or a page that was opened knows its user. */
export type News = { is: 'signed in' | 'signed out' } | { is: 'known'; userId: string }

/** One for sending and hearing, so that a page does not hear itself. */
const channel = new BroadcastChannel('storekeeper.session')

export function announce(news: News): void {
  channel.postMessage(news)
}

export function onNews(listener: (news: News) => void): () => void {
  const hear = ({ data }: MessageEvent) => listener(data as News)
  channel.addEventListener('message', hear)
  return () => channel.removeEventListener('message', hear)
}
