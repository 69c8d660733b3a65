import { Stack, Tabs } from '@mantine/core'
import { useLocation, useParams } from 'wouter'
import { useMe } from '../../app/me.ts'
import NotFound from '../../app/not-found.tsx'
import { ACCOUNT_PAGES, type AccountPage as Name, paths } from '../../app/paths.ts'
import { askedBefore } from '../../app/unsaved.ts'
import { lazy } from '../../components/lazy.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { texts } from '../../texts.ts'

const PARTS = {
  profile: lazy(() => import('./profile.tsx')),
  security: lazy(() => import('./security.tsx')),
  sessions: lazy(() => import('./sessions.tsx')),
  data: lazy(() => import('./data.tsx')),
}

export default function AccountPage() {
  const { page = 'profile' } = useParams()
  const [, navigate] = useLocation()
  const me = useMe()
  const name = ACCOUNT_PAGES.find((one) => one === page)
  if (!name) return <NotFound />
  const Part = PARTS[name]
  const open = (value: string | null) => {
    const path = paths.accountPage(value as Name)
    if (!askedBefore(path)) navigate(path)
  }
  return (
    <Page title={texts.app.account}>
      <Tabs value={name} onChange={open} keepMounted={false}>
        <Tabs.List>
          {ACCOUNT_PAGES.map((one) => (
            <Tabs.Tab key={one} value={one}>
              {texts.account.pages[one]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value={name} pt="lg">
          <Loaded query={me}>
            {({ user }) => (
              <Stack maw={680} gap="lg">
                <Part user={user} />
              </Stack>
            )}
          </Loaded>
        </Tabs.Panel>
      </Tabs>
    </Page>
  )
}
