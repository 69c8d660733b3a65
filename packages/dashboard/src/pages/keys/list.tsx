import {
  Alert,
  Button,
  Checkbox,
  Group,
  SegmentedControl,
  Stack,
  Table,
  Text,
  TextInput,
  VisuallyHidden,
} from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import type { Key } from '@storekeeper/client'
import { Plus, Search } from 'lucide-react'
import { useCallback, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react'
import { useParams, useSearchParams } from 'wouter'
import { paths } from '../../app/paths.ts'
import { AllowedLink } from '../../components/allowed.tsx'
import { Empty } from '../../components/empty.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { texts } from '../../texts.ts'
import { type Bulk, BulkBar, BulkDialog } from './bulk-bar.tsx'
import { inTab, search, TABS, type Tab, useBars, useEndedKeys, useLiveKeys } from './keys.ts'
import { MAX_LISTED } from './live-keys.ts'
import { OwnerUse } from './owner.tsx'
import { KeyCard, KeyRow } from './row.tsx'

const ROWS_AT_ONCE = 100

export default function KeysPage() {
  const { storeId = '' } = useParams()
  const [params, setParams] = useSearchParams()
  const tab = (TABS as readonly string[]).includes(params.get('tab') ?? '') ? (params.get('tab') as Tab) : 'live'
  const live = useLiveKeys(storeId)
  const ended = useEndedKeys(storeId, tab === 'ended')
  const owner = params.get('owner')
  const [bulk, setBulk] = useState<Bulk | null>(null)
  const ofOwner = (keys: Key[]) => (owner === null ? keys : keys.filter((key) => key.owner === owner))
  const write = (name: string, value: string) =>
    setParams(
      (now) => {
        if (value) now.set(name, value)
        else now.delete(name)
        return now
      },
      { replace: true },
    )
  return (
    <Page
      title={texts.keys.title}
      about={texts.keys.about}
      actions={
        <>
          <AllowedLink storeId={storeId} permission="MANAGE_KEYS" href={paths.importKeys(storeId)} variant="default">
            {texts.keys.import}
          </AllowedLink>
          <AllowedLink
            storeId={storeId}
            permission="MANAGE_KEYS"
            href={paths.newKey(storeId)}
            leftSection={<Plus size={16} aria-hidden />}
          >
            {texts.keys.create}
          </AllowedLink>
        </>
      }
    >
      <Loaded query={live}>
        {(all) => {
          const keys = ofOwner(all)
          return all.length === 0 && tab !== 'ended' ? (
            <NoKeys storeId={storeId} onEnded={() => write('tab', 'ended')} />
          ) : (
            <Stack>
              {owner !== null && <OwnerUse storeId={storeId} owner={owner} />}
              <Filters keys={keys} tab={tab} text={params.get('q') ?? ''} write={write} />
              {all.length >= MAX_LISTED && <Alert color="yellow">{texts.keys.tooMany(MAX_LISTED)}</Alert>}
              {tab === 'ended' ? (
                <Loaded query={ended}>
                  {(old) => (
                    <KeyList storeId={storeId} keys={ofOwner(old)} text={params.get('q') ?? ''} onBulk={setBulk} />
                  )}
                </Loaded>
              ) : (
                <KeyList storeId={storeId} keys={inTab(keys, tab)} text={params.get('q') ?? ''} onBulk={setBulk} />
              )}
            </Stack>
          )
        }}
      </Loaded>
      {bulk && <BulkDialog storeId={storeId} {...bulk} onClose={() => setBulk(null)} />}
    </Page>
  )
}

function NoKeys({ storeId, onEnded }: { storeId: string; onEnded: () => void }) {
  return (
    <Empty
      title={texts.keys.none}
      action={
        <Group>
          <AllowedLink storeId={storeId} permission="MANAGE_KEYS" href={paths.newKey(storeId)}>
            {texts.keys.createFirst}
          </AllowedLink>
          <Button variant="subtle" onClick={onEnded}>
            {texts.keys.showEnded}
          </Button>
        </Group>
      }
    >
      {texts.keys.noneHelp}
    </Empty>
  )
}

type FilterProps = { keys: Key[]; tab: Tab; text: string; write: (name: string, value: string) => void }

function Filters({ keys, tab, text, write }: FilterProps) {
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    const focus = (event: KeyboardEvent) => {
      if (event.key !== '/' || event.target !== document.body) return
      event.preventDefault()
      field.current?.focus()
    }
    addEventListener('keydown', focus)
    return () => removeEventListener('keydown', focus)
  }, [])
  const options = TABS.map((name) => ({
    value: name,
    label: name === 'ended' ? texts.keys.tabs.ended : `${texts.keys.tabs[name]} ${inTab(keys, name).length}`,
  }))
  return (
    <Group>
      <TextInput
        ref={field}
        flex={1}
        miw={220}
        leftSection={<Search size={16} aria-hidden />}
        placeholder={texts.keys.searchPlaceholder}
        aria-label={texts.keys.search}
        defaultValue={text}
        onChange={(event) => write('q', event.currentTarget.value)}
      />
      <SegmentedControl
        className="scrolls"
        data={options}
        value={tab}
        onChange={(value) => write('tab', value === 'live' ? '' : value)}
        aria-label={texts.keys.filter}
      />
    </Group>
  )
}

type ListProps = { storeId: string; keys: Key[]; text: string; onBulk: (bulk: Bulk) => void }

/** Searched here, at once: all of them are there. Rows are drawn by the hundred, so that a key press stays quick. */
function KeyList({ storeId, keys, text, onBulk }: ListProps) {
  const wanted = useDeferredValue(text)
  const found = useMemo(() => search(keys, wanted), [keys, wanted])
  const usage = useBars(storeId).data
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const isNarrow = useMediaQuery('(max-width: 40em)')
  const shown = found.filter(({ id }) => chosen.has(id))
  const choose = useCallback(
    (id: string, on: boolean) => setChosen((now) => new Set(on ? [...now, id] : [...now].filter((one) => one !== id))),
    [],
  )
  const [more, setMore] = useState({ wanted, count: ROWS_AT_ONCE })
  const count = more.wanted === wanted ? more.count : ROWS_AT_ONCE
  const rows = found.slice(0, count).map((key) => ({
    apiKey: key,
    bars: usage?.bars.get(key.id) ?? usage?.empty,
    chosen: chosen.has(key.id),
    onChoose: choose,
  }))
  if (found.length === 0)
    return (
      <Text c="dimmed" py="xl" role="status">
        {texts.keys.nothingFound}
      </Text>
    )
  return (
    <Stack>
      <VisuallyHidden role="status">{texts.keys.found(found.length)}</VisuallyHidden>
      {shown.length > 0 && (
        <BulkBar
          storeId={storeId}
          keys={shown}
          onAct={(action) => onBulk({ action, keys: shown, onDone: () => setChosen(new Set()) })}
        />
      )}
      {isNarrow ? (
        rows.map((row) => <KeyCard key={row.apiKey.id} {...row} />)
      ) : (
        <Table.ScrollContainer minWidth={700} className="rows" type="native">
          <Table verticalSpacing="sm" highlightOnHover>
            <Table.Thead>
              <Table.Tr>
                <Table.Th w={36}>
                  <Checkbox
                    aria-label={texts.keys.chooseAll}
                    checked={shown.length === found.length}
                    indeterminate={shown.length > 0 && shown.length < found.length}
                    onChange={(event) =>
                      setChosen(new Set(event.currentTarget.checked ? found.map(({ id }) => id) : []))
                    }
                  />
                </Table.Th>
                {texts.keys.columns.map((column) => (
                  <Table.Th key={column}>{column}</Table.Th>
                ))}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {rows.map((row) => (
                <KeyRow key={row.apiKey.id} {...row} />
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
      {found.length > count && (
        <Button variant="default" onClick={() => setMore({ wanted, count: count + ROWS_AT_ONCE })}>
          {texts.keys.showMore(Math.min(ROWS_AT_ONCE, found.length - count), found.length)}
        </Button>
      )}
    </Stack>
  )
}
