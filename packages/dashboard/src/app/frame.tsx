// The frame of every page for somebody who is signed in: the store switcher, the pages of the store, the account.

import {
  Alert,
  Anchor,
  AppShell,
  Burger,
  Button,
  Divider,
  Group,
  Menu,
  NavLink,
  Popover,
  ScrollArea,
  Text,
  TextInput,
  Tooltip,
  useMantineColorScheme,
} from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import {
  Boxes,
  ChartNoAxesColumn,
  ChevronsUpDown,
  CircleUser,
  KeyRound,
  MapPinHouse,
  Radio,
  ReceiptText,
  ServerCog,
  Settings,
  Snowflake,
  Users,
  Webhook,
} from 'lucide-react'
import { type ComponentType, type ReactNode, useEffect, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { Loaded } from '../components/loaded.tsx'
import { Mark } from '../components/mark.tsx'
import { Time } from '../components/time.tsx'
import { texts } from '../texts.ts'
import { knownUser } from './known-user.ts'
import { recentStores, rememberStore } from './last-store.ts'
import { LeaveGuard } from './leave-guard.tsx'
import { type Membership, useMay, useMe } from './me.ts'
import { paths } from './paths.ts'
import { SearchButton } from './search-button.tsx'
import { SecretProvider } from './secret-provider.tsx'
import { useGate } from './session.ts'
import { signOut } from './sign-out.ts'

type PageLink = { path: string; label: string; icon: ComponentType<{ size?: number }>; needs?: string }

/** The pages of a store, in the order of the navigation, with the permission that each needs. */
function storePages(storeId: string): PageLink[] {
  return [
    { path: paths.overview(storeId), label: texts.nav.overview, icon: ChartNoAxesColumn, needs: 'MANAGE_KEYS' },
    { path: paths.keys(storeId), label: texts.nav.keys, icon: KeyRound, needs: 'MANAGE_KEYS' },
    { path: paths.customers(storeId), label: texts.nav.customers, icon: Boxes, needs: 'READ' },
    { path: paths.invoicing(storeId), label: texts.nav.invoicing, icon: ReceiptText, needs: 'READ' },
    { path: paths.members(storeId), label: texts.nav.members, icon: Users, needs: 'READ' },
    { path: paths.events(storeId), label: texts.nav.events, icon: Radio, needs: 'VIEW_EVENTS' },
    { path: paths.webhooks(storeId), label: texts.nav.webhooks, icon: Webhook, needs: 'MANAGE_WEBHOOKS' },
    { path: paths.serviceTokens(storeId), label: texts.nav.serviceTokens, icon: ServerCog, needs: 'OWNER' },
    { path: paths.addresses(storeId), label: texts.nav.addresses, icon: MapPinHouse },
    { path: paths.storeSettings(storeId), label: texts.nav.settings, icon: Settings, needs: 'READ' },
  ]
}

export function Frame({ children }: { children: ReactNode }) {
  const me = useMe()
  const [location] = useLocation()
  const [opened, { toggle, close }] = useDisclosure()
  useEffect(close, [location])
  const storeId = /^\/stores\/(store_[^/]+)/.exec(location)?.[1]
  const may = useMay(storeId ?? '')
  const pages = storeId ? storePages(storeId).filter(({ needs }) => needs === undefined || may(needs)) : []
  const gate = useGate()
  // Not below a form that asks for a new sign-in, nor for somebody who has signed out since the service named them.
  const isSignedIn = me.data !== undefined && gate === null && knownUser() !== null
  useEffect(() => {
    if (storeId && isSignedIn) rememberStore(storeId)
  }, [storeId, isSignedIn])
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 232, breakpoint: 'sm', collapsed: { mobile: !opened, desktop: !storeId } }}
      padding="lg"
    >
      <a className="skip-link" href="#content">
        {texts.app.skip}
      </a>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            {storeId && (
              <Burger opened={opened} onClick={toggle} hiddenFrom="sm" size="sm" aria-label={texts.app.menu} />
            )}
            <Anchor
              component={Link}
              href={paths.stores}
              fw={700}
              c="var(--mantine-color-text)"
              underline="never"
              className="brand"
              aria-label={texts.app.name}
            >
              <Mark />
              <Text span inherit visibleFrom="sm">
                {texts.app.name}
              </Text>
            </Anchor>
            {me.data && <StoreSwitcher stores={me.data.stores} storeId={storeId} />}
          </Group>
          <Group gap="xs" wrap="nowrap">
            {me.data && <SearchButton stores={me.data.stores} storeId={storeId} pages={pages} />}
            <AccountMenu name={me.data?.user.name ?? me.data?.user.email ?? texts.app.account} />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="sm" aria-label={texts.app.menu}>
        <ScrollArea>{storeId && <StoreNavigation storeId={storeId} location={location} />}</ScrollArea>
      </AppShell.Navbar>
      <AppShell.Main id="content">
        <Loaded query={me}>
          {({ stores }) => (
            <div className="page-width">
              <FrozenBar store={stores.find(({ store }) => store.id === storeId)?.store} />
              <SecretProvider>{children}</SecretProvider>
              <LeaveGuard />
            </div>
          )}
        </Loaded>
      </AppShell.Main>
    </AppShell>
  )
}

function StoreNavigation({ storeId, location }: { storeId: string; location: string }) {
  const may = useMay(storeId)
  /** The one page whose address is beside that of the page it belongs to. */
  const isBelow = (path: string) => path === paths.customers(storeId) && location === paths.importCustomers(storeId)
  return storePages(storeId).map(({ path, label, icon: Icon, needs }) => {
    const allowed = needs === undefined || may(needs)
    const active = path === paths.overview(storeId) ? location === path : location.startsWith(path) || isBelow(path)
    const leftSection = <Icon size={18} aria-hidden />
    if (allowed)
      return (
        <NavLink
          key={path}
          component={Link}
          href={path}
          label={label}
          leftSection={leftSection}
          active={active}
          aria-current={active ? 'page' : undefined}
        />
      )
    return (
      <Tooltip
        key={path}
        label={texts.app.needs(needs)}
        position="right"
        events={{ hover: true, focus: true, touch: true }}
      >
        <NavLink component="button" type="button" label={label} leftSection={leftSection} aria-disabled c="dimmed" />
      </Tooltip>
    )
  })
}

function StoreSwitcher({ stores, storeId }: { stores: Membership[]; storeId: string | undefined }) {
  const [opened, { toggle, close }] = useDisclosure(false)
  const [search, setSearch] = useState('')
  const recent = recentStores()
  const place = (id: string) => (recent.includes(id) ? recent.indexOf(id) : recent.length)
  const found = stores
    .filter(({ store }) => store.name.toLowerCase().includes(search.trim().toLowerCase()))
    .sort((a, b) => place(a.store.id) - place(b.store.id))
  const current = stores.find(({ store }) => store.id === storeId)?.store
  // Not a menu: in one, letters choose an entry instead of being typed.
  return (
    <Popover
      opened={opened}
      onDismiss={close}
      onExitTransitionEnd={() => setSearch('')}
      width={280}
      position="bottom-start"
      trapFocus
      returnFocus
    >
      <Popover.Target>
        <Button
          variant="default"
          size="xs"
          rightSection={<ChevronsUpDown size={14} aria-hidden />}
          maw={{ base: 'min(150px, 100vw - 210px)', sm: 280 }}
          aria-label={`${texts.app.switchStore}: ${current?.name ?? texts.app.stores}`}
          onClick={toggle}
        >
          <Text truncate inherit lh={1.5}>
            {current?.name ?? texts.app.stores}
          </Text>
        </Button>
      </Popover.Target>
      <Popover.Dropdown p={4}>
        {stores.length > 5 && (
          <TextInput
            data-autofocus
            m={4}
            size="xs"
            value={search}
            placeholder={texts.app.searchStores}
            aria-label={texts.app.searchStores}
            onChange={(event) => setSearch(event.currentTarget.value)}
          />
        )}
        <ScrollArea.Autosize mah={320}>
          {found.map(({ store }) => (
            <NavLink
              key={store.id}
              component={Link}
              href={paths.overview(store.id)}
              label={store.name}
              active={store.id === storeId}
              aria-current={store.id === storeId ? 'true' : undefined}
              rightSection={store.frozenAt && <Snowflake size={14} aria-hidden />}
              onClick={close}
            />
          ))}
        </ScrollArea.Autosize>
        <Divider my={4} />
        <NavLink component={Link} href={paths.stores} label={texts.app.stores} onClick={close} />
        <NavLink component={Link} href={paths.newStore} label={texts.app.newStore} onClick={close} />
      </Popover.Dropdown>
    </Popover>
  )
}

function AccountMenu({ name }: { name: string }) {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  return (
    <Menu width={220} position="bottom-end" withInitialFocusPlaceholder={false}>
      <Menu.Target>
        <Button
          variant="subtle"
          color="gray"
          size="xs"
          c="var(--mantine-color-text)"
          className="account-button"
          leftSection={<CircleUser size={18} aria-hidden />}
          aria-label={`${texts.app.account}: ${name}`}
        >
          <Text truncate inherit lh={1.5} maw={{ base: 140, lg: 220 }} visibleFrom="sm">
            {name}
          </Text>
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item component={Link} href={paths.account}>
          {texts.app.account}
        </Menu.Item>
        <Menu.Item component="a" href="/docs">
          {texts.app.docs}
        </Menu.Item>
        <Menu.Divider />
        <Menu.Label>{texts.app.colorScheme}</Menu.Label>
        {(['auto', 'light', 'dark'] as const).map((scheme) => (
          <Menu.Item
            key={scheme}
            closeMenuOnClick={false}
            onClick={() => setColorScheme(scheme)}
            aria-current={scheme === colorScheme}
            fw={scheme === colorScheme ? 700 : 400}
          >
            {{ auto: texts.app.system, light: texts.app.light, dark: texts.app.dark }[scheme]}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item onClick={() => void signOut()}>{texts.app.signOut}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}

/** On every page of a frozen store. */
function FrozenBar({ store }: { store: Membership['store'] | undefined }) {
  if (!store?.frozenAt) return null
  return (
    <Alert color="blue" icon={<Snowflake size={20} aria-hidden />} mb="md" role="status">
      {texts.app.frozen} <Time at={store.frozenAt} />.{' '}
      <Anchor component={Link} href={paths.storeSettings(store.id)} inherit c="inherit" underline="always">
        {texts.app.toUnfreeze}
      </Anchor>
    </Alert>
  )
}
