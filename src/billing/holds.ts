// Holds: a version of an address that a store must keep, such as for an invoice, stays readable for it until the hold ends,
// though its user is erased or the store is gone. Its text is sealed once more, under a key of the hold's own, in a row that
// refers to nothing; destroying that row ends it. See docs/decisions/holds.md.

import { newDataKey, unwrapDataKey } from '../auth/data-key.ts'
import { creatorOf, type Manager } from '../core/caller.ts'
import { DAY, fromNow, now } from '../core/clock.ts'
import { type Fault, fail } from '../core/errors.ts'
import type { Answer } from '../core/route.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { runInBatches } from '../db/chore.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { AddressHoldsRow, UsersRow } from '../db/tables.gen.ts'
import { newEvent, SYSTEM, writeEvents } from '../events/write.ts'
import type { Instance } from '../instance.ts'
import { parseDateTime } from '../schema/fields.ts'
import { forgetAnswers } from './forget-answers.ts'
import { type AddressRef, dataKeyOf } from './read.ts'
import type { AddressVersion, HeldVersion, NewHold } from './schema.ts'
import { sealText, unsealText } from './sealed-text.ts'
import { findVersion, showHeldVersion, showVersion, type VersionRow } from './versions.ts'

/** 15 years. */
const MAX_HOLD_MS = 5_479 * DAY

type HoldSpec = { reason: string; until: Date }
type VersionRef = AddressRef & { n: string }

export function parseHold({ reason = '', until }: Partial<NewHold>, faults: Fault[]): HoldSpec {
  const end = (until === undefined ? null : parseDateTime(until)) ?? now()
  const pointer = '#/until'
  const example = fromNow(10 * 365 * DAY).toISOString()
  if (until !== undefined && end <= now())
    faults.push({ pointer, code: 'not_in_future', detail: 'This must be in the future.', example })
  else if (end > fromNow(MAX_HOLD_MS))
    faults.push({
      pointer,
      code: 'too_far',
      detail: 'This can be at most 5,479 days (15 years) in the future.',
      example,
    })
  return { reason, until: end }
}

/**
 * Puts a version on hold, or replaces the hold that it has. Once the user is erased, a hold can only be shortened: they were
 * told until when, and why.
 */
export async function holdVersion(
  tx: Db,
  instance: Instance,
  caller: Manager,
  ref: VersionRef,
  spec: HoldSpec,
): Promise<Answer<AddressVersion>> {
  const { address_id, user_id } = await findVersion(tx, null, ref)
  // The user may not be erased between the reading of their key and the writing of the hold.
  await tx.one<Pick<UsersRow, 'id'>>(sql`
    select id
      from users
     where id = ${user_id}
       for key share`)
  const version = await findVersion(tx, null, ref)
  const isErased = dataKeyOf(instance, [version]) === null
  if (version.hold_id === null) await insertHold(tx, instance.keyring, caller, version, spec)
  else if (isErased && (spec.until > version.until || spec.reason !== version.reason)) fail('version_erased')
  else
    await tx.query(sql`
      update address_holds
         set reason = ${spec.reason}, until = ${spec.until}, held_by_kind = ${caller.kind}, held_by_id = ${caller.id},
             held_at = ${now()}
       where id = ${version.hold_id}`)
  await writeEvents(tx, [
    newEvent(caller, ref.storeId, 'address.held', address_id, {
      version: version.version,
      until: spec.until.toISOString(),
    }),
  ])
  const held = await findVersion(tx, null, ref)
  return {
    body: showVersion(instance, held, dataKeyOf(instance, [held])),
    // By the address, an answer that is kept for retries is found when its text has to go.
    resource: { id: address_id, location: `/v1/user/store/${ref.storeId}/billing/${address_id}/versions/${ref.n}` },
  }
}

async function insertHold(
  tx: Db,
  keyring: Keyring,
  caller: Manager,
  version: VersionRow,
  { reason, until }: HoldSpec,
): Promise<void> {
  const userKey = dataKeyOf({ keyring }, [version])
  if (userKey === null) return fail('version_erased')
  const context = { ...version, id: version.address_id }
  const id = `${version.address_id}/${version.version}`
  const { wrapped, kid } = newDataKey(keyring, id)
  const key = unwrapDataKey(keyring, { id, dataKey: wrapped, dataKeyKid: kid })
  const sealed = sealText(key, context, unsealText(userKey, context))
  const by = creatorOf(caller)
  // A hold that has ended may still lie there, until the next run of `endHolds`.
  await tx.query(sql`
    with ended as (
      delete from address_holds
       where id = ${id}
      returning id
    )
    insert into address_holds
           (id, address_id, version, store_id, user_id, country, state, postal_code, created_at, at, changed_by_kind,
            changed_by_id, sealed, data_key, data_key_kid, reason, until, held_by_kind, held_by_id, held_at)
    select ${id}, content.address_id, content.version, content.store_id, content.user_id, content.country, content.state,
           content.postal_code, content.created_at, content.at, content.changed_by_kind, content.changed_by_id,
           ${sealed}::bytea, ${wrapped}::bytea, ${kid}, ${reason}, ${until}::timestamptz, ${by.kind}, ${by.id},
           ${now()}::timestamptz
      from address_contents content
     where content.address_id = ${version.address_id}
       and content.version = ${version.version}
       and (select count(*) from ended) >= 0`)
}

/** Ends a hold before its time: what it alone kept readable is gone. */
export async function releaseVersion(tx: Db, caller: Manager, ref: VersionRef): Promise<void> {
  const { hold_id, address_id, user_id, version } = await findVersion(tx, null, ref)
  if (hold_id === null) return fail('hold_not_found')
  await tx.query(sql`delete from address_holds where id = ${hold_id}`)
  await forgetAnswers(tx, [user_id])
  await writeEvents(tx, [newEvent(caller, ref.storeId, 'address.released', address_id, { version })])
}

/** A chore: deletes the holds whose end has come. */
export function endHolds(db: Db): Promise<number> {
  return runInBatches(db, async (tx, size) => {
    const ended = await tx.query<Pick<AddressHoldsRow, 'store_id' | 'address_id' | 'user_id' | 'version'>>(sql`
      delete from address_holds
       where id = any(array(
               select id
                 from address_holds
                where until <= ${now()}
                order by until
                limit ${size}
             ))
      returning store_id, address_id, user_id, version`)
    await forgetAnswers(
      tx,
      ended.map(({ user_id }) => user_id),
    )
    await writeEvents(
      tx,
      ended.map(({ store_id, address_id, version }) =>
        newEvent(SYSTEM, store_id, 'address.released', address_id, { version }),
      ),
    )
    return { rows: ended.length, hasMore: ended.length >= size }
  })
}

/** What stays readable for stores when the user is erased, and why. */
export async function listHeld(db: Db, userId: string): Promise<HeldVersion[]> {
  const rows = await db.query<Pick<AddressHoldsRow, 'address_id' | 'version' | 'reason' | 'until'>>(sql`
    select address_id, version, reason, until
      from address_holds
     where user_id = ${userId}
       and until > ${now()}
     order by address_id, version`)
  return rows.map(({ address_id, version, reason, until }) => ({
    addressId: address_id,
    version,
    reason,
    until: until.toISOString(),
  }))
}

const PAGE = 500

/** For the operator: all that is held of a store, or of all stores, also of those that are gone. */
export async function* exportHeldVersions(
  db: Db,
  keyring: Keyring,
  storeId: string | null,
): AsyncGenerator<AddressVersion> {
  for (let after = ''; ; ) {
    const rows = await db.query<AddressHoldsRow>(sql`
      select *
        from address_holds
       where id > ${after}
         and until > ${now()}
         and ${storeId === null ? sql`true` : sql`store_id = ${storeId}`}
       order by id
       limit ${PAGE}`)
    for (const row of rows) yield showHeldVersion(keyring, row)
    if (rows.length < PAGE) return
    after = (rows.at(-1) as AddressHoldsRow).id
  }
}
