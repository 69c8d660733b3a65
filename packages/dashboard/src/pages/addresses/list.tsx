import { useAddressBook } from '../../components/address/book.ts'
import { AddressCards, NewAddressAbove } from '../../components/address/cards.tsx'
import { Page } from '../../components/page.tsx'
import { texts } from '../../texts.ts'

export default function AddressesPage() {
  const book = useAddressBook()
  return (
    <Page title={texts.addresses.title} about={texts.addresses.about} actions={<NewAddressAbove book={book} />}>
      <AddressCards book={book} />
    </Page>
  )
}
