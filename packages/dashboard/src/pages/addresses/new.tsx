import { useLocation } from 'wouter'
import { useAddressBook } from '../../components/address/book.ts'
import { AddressForm } from '../../components/address/form.tsx'
import { Page } from '../../components/page.tsx'
import { texts } from '../../texts.ts'

export default function NewAddressPage() {
  const book = useAddressBook()
  const [, navigate] = useLocation()
  return (
    <Page
      title={texts.addresses.create}
      about={book.externalId === null ? undefined : texts.addresses.addressOf(book.externalId)}
    >
      <AddressForm book={book} base={null} onSaved={() => navigate(book.paths.list)} />
    </Page>
  )
}
