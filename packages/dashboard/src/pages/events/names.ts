// Names for the ids in events: members, keys, webhooks and service tokens, as far as the reader may see them.

import type { Event } from '@storekeeper/client'
import { useEffect, useRef } from 'react'
import { useRead } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { useMay, useMembership } from '../../app/me.ts'
import { paths } from '../../app/paths.ts'
import { queryClient } from '../../app/query.ts'
import { texts } from '../../texts.ts'
import { useEndedKeys, useLiveKeys } from '../keys/keys.ts'

const MAX_NAMES = 500

export type Named = { id: string; name: string; group: keyof typeof texts.events.groups; path?: string }
export type Names = {
  all: Named[]
  find: (id: string) => Named | undefined
}

export function useNames(storeId: string, events: readonly Event[]): Names {
  const may = useMay(storeId)
  const store = useMembership(storeId)?.store
  const members = useRead(
    ['members', storeId, 'staff'],
    async (options) => {
      const roles = ['OWNER', 'MANAGER', 'STAFF'] as const
      const lists = roles.map((role) => sk.store(storeId).members.list({ role }, options).toArray({ max: MAX_NAMES }))
      return (await Promise.all(lists)).flat()
    },
    { enabled: may('READ') },
  ).data
  const live = useLiveKeys(storeId, may('MANAGE_KEYS')).data
  const ended = useEndedKeys(storeId, may('MANAGE_KEYS')).data
  const webhooks = useRead(
    ['webhooks', storeId],
    (options) => sk.store(storeId).webhooks.list({}, options).toArray({ max: 100 }),
    { enabled: may('MANAGE_WEBHOOKS') },
  ).data
  const all: Named[] = [
    ...(store ? [{ id: storeId, name: store.name, group: 'store' as const }] : []),
    ...(members ?? []).map(({ userId, name, email }) => ({
      id: userId,
      name: name ?? email ?? userId,
      group: 'members' as const,
      path: paths.member(storeId, userId),
    })),
    ...[...(live ?? []), ...(ended ?? [])].map(({ id, name }) => ({
      id,
      name,
      group: 'keys' as const,
      path: paths.key(storeId, id),
    })),
    ...(webhooks ?? []).map(({ id, url }) => ({
      id,
      name: new URL(url).host,
      group: 'webhooks' as const,
      path: paths.webhook(storeId, id),
    })),
    ...events
      .filter(({ type }) => type === 'service_token.created')
      .map(({ subject, data }) => ({
        id: subject,
        name: String(data.name),
        group: 'serviceTokens' as const,
        path: paths.serviceTokens(storeId),
      })),
  ]
  const byId = new Map(all.map((named) => [named.id, named]))
  useNewMembers(storeId, members !== undefined, events, byId)
  return { all: [...byId.values()], find: (id) => byId.get(id) }
}

/** Somebody who joined since members were read is in an event first: then they are read again, once for each. */
function useNewMembers(storeId: string, areRead: boolean, events: readonly Event[], byId: Map<string, Named>): void {
  const askedFor = useRef<Set<string> | null>(null)
  useEffect(() => {
    if (!areRead || events.length === 0) return
    const people = events.flatMap(({ actor, subject }) => [actor.id, subject]).filter((id) => id.startsWith('user_'))
    const unknown = people.filter((id) => !byId.has(id) && !askedFor.current?.has(id))
    const isFirst = askedFor.current === null
    askedFor.current = new Set([...(askedFor.current ?? []), ...unknown])
    if (!isFirst && unknown.length > 0) void queryClient.invalidateQueries({ queryKey: ['members', storeId] })
  }, [storeId, areRead, events, byId])
}

/** An event as a sentence: who did what. What is not known by name is told by its id. */
export function sentence(event: Event, { find }: Names): string {
  const { type, actor, subject, data } = event
  const who =
    actor.kind === 'system' && actor.id === 'storekeeper'
      ? texts.events.system
      : (texts.events.actors[actor.kind as 'user']?.(find(actor.id)?.name ?? short(actor.id)) ?? actor.id)
  const told: Record<string, (what: string, data: Record<string, unknown>) => string> = texts.events.sentences
  const given = [data.name, data.host].find((name) => typeof name === 'string')
  const what = find(subject)?.name ?? given ?? short(subject)
  return `${who} ${told[type]?.(actor.id === subject ? texts.events.themselves : what, data) ?? texts.events.other(type, what)}`
}

/** The end of an id is what tells it from others. */
function short(id: string): string {
  return id.replace(/^(\w+?)_\w+(\w{6})$/, '$1_…$2')
}
