import { Page } from '../components/page.tsx'

export default function SignInPage() {
  return <Page title="Sign in">{null}</Page>
}
