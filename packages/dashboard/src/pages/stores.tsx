import { Page } from '../components/page.tsx'

export default function StoresPage() {
  return <Page title="Stores">{null}</Page>
}
