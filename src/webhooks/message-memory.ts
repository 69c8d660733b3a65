// How many messages wait in memory, of each account. An account may have as many as there is room left: one alone has half of
// the room, and among many accounts there is always some for another one.

import type { Message } from './outbox.ts'

const MAX_MESSAGES = 10_000
const MAX_CHARACTERS = 32_000_000

type Amount = { messages: number; characters: number }

export type MessageMemory = {
  add(account: string, message: Message): void
  remove(account: string, messages: Message[]): void
  messages(): number
  messagesOf(account: string): number
  /** The accounts of which at least so many messages wait. */
  accountsWith(messages: number): string[]
  /** Whether another message of this account may be leased. */
  hasRoom(account: string): boolean
  isFull(): boolean
  /** There is still room for what was made just now, but nothing is leased that can wait in the table. */
  isHalfFull(): boolean
}

export function newMessageMemory(): MessageMemory {
  const all: Amount = { messages: 0, characters: 0 }
  const byAccount = new Map<string, Amount>()
  const change = (account: string, messages: number, characters: number) => {
    const own = byAccount.get(account) ?? { messages: 0, characters: 0 }
    for (const amount of [all, own]) {
      amount.messages += messages
      amount.characters += characters
    }
    if (own.messages > 0) byAccount.set(account, own)
    else byAccount.delete(account)
  }
  return {
    add: (account, message) => change(account, 1, message.body.length),
    remove(account, messages) {
      for (const { body } of messages) change(account, -1, -body.length)
    },
    messages: () => all.messages,
    messagesOf: (account) => byAccount.get(account)?.messages ?? 0,
    accountsWith: (messages) => [...byAccount].flatMap(([account, own]) => (own.messages >= messages ? [account] : [])),
    hasRoom(account) {
      const own = byAccount.get(account)
      if (!own) return true
      return own.messages < MAX_MESSAGES - all.messages && own.characters < MAX_CHARACTERS - all.characters
    },
    isFull: () => all.messages >= MAX_MESSAGES || all.characters >= MAX_CHARACTERS,
    isHalfFull: () => all.messages >= MAX_MESSAGES / 2 || all.characters >= MAX_CHARACTERS / 2,
  }
}
