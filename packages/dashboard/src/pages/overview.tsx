import { Page } from '../components/page.tsx'

export default function OverviewPage() {
  return <Page title="Overview">{null}</Page>
}
