// What was typed and not saved, while the page is open. An address is personal data: a draft is kept in memory only, and
// gone with the tab or when somebody signs out.

import type { Address } from '@storekeeper/client'
import { queryClient, TYPED } from '../../app/query.ts'
import type { AddressBook } from './book.ts'
import type { AddressValues } from './values.ts'

/** `base`: the record that the form was filled from. `version`: the one that it was filled in from again. */
type Draft = { values: AddressValues; base: Address | null; version?: number }

const keyOf = ({ key }: AddressBook, addressId: string | null) => [TYPED, ...key, addressId]

export const drafts = {
  read: (book: AddressBook, addressId: string | null) => queryClient.getQueryData<Draft>(keyOf(book, addressId)),
  write: (book: AddressBook, addressId: string | null, draft: Draft) =>
    void queryClient.setQueryData(keyOf(book, addressId), draft),
  remove: (book: AddressBook, addressId: string | null) =>
    queryClient.removeQueries({ queryKey: keyOf(book, addressId) }),
}
