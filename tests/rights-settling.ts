// What somebody made or took in the store, and how it ends with them.

import {
  type Credential,
  change,
  type Invitation,
  isEnded,
  isSession,
  nth,
  type SecretOf,
  type World,
} from './rights-model.ts'
import type { Cascade, Draft } from './rights-rules.ts'

/** `itself`: the person goes by themselves, or settles themselves. */
export type Maker = { person: number; itself?: boolean } | { key: number }

/** The secrets that the maker took: by making or rotating a key, themselves or with a secret that they took. */
function secretsTakenBy({ world, on }: Draft, maker: Maker): SecretOf[] {
  const all = world.keys.flatMap((record, key) =>
    record.secrets.map(({ takenBy, takenAt }, secret) => ({ key, secret, takenBy, takenAt })),
  )
  const counts = ({ secret }: SecretOf) => secret === 0 || on('whoever rotates a key takes its secret')
  const since = sinceWhen({ world, on }, maker)
  const taken: SecretOf[] = []
  for (const one of all) {
    const isTheirs =
      'key' in maker
        ? one.key === maker.key
        : isSession(one.takenBy) && one.takenBy.person === maker.person && one.takenAt >= since
    if (isTheirs && ('key' in maker || counts(one))) taken.push(one)
  }
  if (!on('a secret taken with a secret is theirs too')) return taken
  for (const link of taken)
    for (const one of all) {
      const isNext = !isSession(one.takenBy) && one.takenBy.key === link.key && one.takenBy.secret === link.secret
      if (isNext && counts(one) && !taken.includes(one)) taken.push(one)
    }
  return taken
}

/** What somebody made before they became a member again, or were demoted, those who manage the store have decided over. */
function sinceWhen({ world, on }: Draft, maker: Maker): number {
  const counts = 'person' in maker && maker.itself && on('nobody ends by going what is left of an earlier membership')
  return counts ? nth(world.people, maker.person).since : 0
}

/**
 * The keys that they made, or of which they took a secret that still works, and the webhooks made by them or with those.
 * To whoever settles themselves a key is theirs as long as its current secret is.
 */
export function madeBy(draft: Draft, maker: Maker): { keys: number[]; webhooks: number[] } {
  const { world, on } = draft
  const taken = secretsTakenBy(draft, maker)
  const since = sinceWhen(draft, maker)
  const currentOnly = 'person' in maker && maker.itself && on('nobody ends by going what somebody has taken back')
  const counts = (one: SecretOf) => (currentOnly ? isCurrent(world, one) : one.secret === 0 || lasts(world, one))
  const isTheirs = (by: Credential) =>
    isSession(by)
      ? 'person' in maker && by.person === maker.person
      : taken.some(({ key, secret }) => key === by.key && secret === by.secret)
  const keys = taken.filter(counts).map(({ key }) => key)
  return {
    keys: [...new Set(keys)].filter((key) => !('key' in maker && key === maker.key)),
    webhooks: world.webhooks.flatMap(({ madeBy, madeAt }, n) => (isTheirs(madeBy) && madeAt >= since ? [n] : [])),
  }
}

const isCurrent = (world: World, { key, secret }: SecretOf) => secret === nth(world.keys, key).secrets.length - 1

/** Whether the secret works as long as its key does: it is the current one, or in its grace. */
function lasts(world: World, { key, secret }: SecretOf): boolean {
  const { endsAt } = nth(nth(world.keys, key).secrets, secret)
  return endsAt === null || endsAt > world.at
}

/** What somebody made or took is kept, or ends. */
export function settle(draft: Draft, maker: Maker, cascade: Cascade): void {
  const { keys, webhooks } = madeBy(draft, maker)
  if (cascade.webhooks === 'disable') for (const n of webhooks) change(draft.world.webhooks, n, { enabled: false })
  if (cascade.keys === 'revoke')
    endKeys(
      draft.world,
      keys.filter((key) => !isEnded(draft.world, nth(draft.world.keys, key))),
    )
}

/** The invitations that were made with a key end with it. */
export function endKeys(world: World, keys: number[]): void {
  for (const key of keys) change(world.keys, key, { revoked: true })
  withdrawWhere(world, ({ madeBy }) => !isSession(madeBy) && keys.includes(madeBy.key))
}

export function withdrawWhere(world: World, which: (invitation: Invitation) => boolean): void {
  world.invitations.forEach((invitation, n) => {
    if (invitation.state === 'open' && which(invitation)) change(world.invitations, n, { state: 'withdrawn' })
  })
}
