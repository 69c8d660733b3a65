// What a user typed for a new key survives a reload of their tab. A key's settings are no secret, but they are that user's:
// the next one in the tab begins with an empty form.

import { DRAFT, knownUser } from '../../app/known-user.ts'
import { EMPTY, type KeyValues } from './key-form.ts'

const nameOf = (storeId: string) => `${DRAFT}${knownUser()}.${storeId}`

export function readDraft(storeId: string): KeyValues {
  try {
    return { ...EMPTY, ...JSON.parse(sessionStorage.getItem(nameOf(storeId)) ?? '{}') }
  } catch {
    return EMPTY
  }
}

export function writeDraft(storeId: string, values: KeyValues): void {
  // A page that has just forgotten its user is still drawn once more.
  if (knownUser() !== null) sessionStorage.setItem(nameOf(storeId), JSON.stringify(values))
}

export function removeDraft(storeId: string): void {
  sessionStorage.removeItem(nameOf(storeId))
}
