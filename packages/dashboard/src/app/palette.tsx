// One search for everything that has a page: the pages themselves, stores, and the keys and members of the store that is
// open. A combobox in a dialog: the arrow keys choose, Enter opens.

import { Stack, Text, TextInput, VisuallyHidden } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { type KeyboardEvent, useEffect, useId, useState } from 'react'
import { useLocation } from 'wouter'
import { Dialog } from '../components/dialog.tsx'
import { texts } from '../texts.ts'
import { useRead } from './api.ts'
import { sk } from './client.ts'
import { findSome } from './found-page.ts'
import { type Membership, useMay } from './me.ts'
import { ACCOUNT_PAGES, homeOf, paths } from './paths.ts'
import { askedBefore } from './unsaved.ts'

type Target = { path: string; label: string; note?: string }
type Group = { label: string; targets: Target[] }
type Props = { stores: Membership[]; storeId: string | undefined; pages: Target[]; onClose: () => void }

const MAX_FOUND = 6

export default function Palette({ stores, storeId, pages, onClose }: Props) {
  const id = useId()
  const [text, setText] = useState('')
  const [active, setActive] = useState(0)
  const [, navigate] = useLocation()
  const groups = useGroups(text, { stores, storeId, pages })
  const targets = groups.flatMap((group) => group.targets)
  const chosen = targets[Math.min(active, targets.length - 1)]
  const idOf = (target: Target) => `${id}-${targets.indexOf(target)}`
  const chosenId = chosen && idOf(chosen)
  useEffect(() => {
    if (chosenId) document.getElementById(chosenId)?.scrollIntoView({ block: 'nearest' })
  }, [chosenId])
  const open = ({ path }: Target) => {
    onClose()
    if (!askedBefore(path)) navigate(path)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step) setActive((Math.min(active, targets.length - 1) + step + targets.length) % targets.length)
    else if (event.key === 'Enter' && chosen) open(chosen)
    else return
    event.preventDefault()
  }
  return (
    <Dialog opened onClose={onClose} title={texts.palette.title} yOffset="8vh">
      <Stack gap="xs">
        <TextInput
          data-autofocus
          role="combobox"
          aria-label={texts.palette.label}
          aria-expanded={targets.length > 0}
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          aria-activedescendant={chosenId}
          autoComplete="off"
          placeholder={storeId ? texts.palette.placeholder : texts.palette.placeholderOutside}
          value={text}
          onKeyDown={onKeyDown}
          onChange={(event) => {
            setText(event.currentTarget.value)
            setActive(0)
          }}
        />
        <VisuallyHidden role="status">{texts.palette.found(targets.length)}</VisuallyHidden>
        {targets.length === 0 && (
          <Text size="sm" c="dimmed" py="xs">
            {texts.palette.nothing}
          </Text>
        )}
        <div className="palette" id={`${id}-list`} role="listbox" aria-label={texts.palette.title}>
          {groups.map((group) => (
            <div key={group.label} role="group" aria-label={group.label}>
              <div className="palette-group" aria-hidden>
                {group.label}
              </div>
              {group.targets.map((target) => (
                // The field keeps the focus; its keys are heard there.
                <div
                  key={target.path}
                  id={idOf(target)}
                  role="option"
                  aria-selected={target === chosen}
                  tabIndex={-1}
                  onMouseMove={() => setActive(targets.indexOf(target))}
                  onMouseDown={(event) => event.preventDefault()}
                  onClick={() => open(target)}
                  onKeyDown={onKeyDown}
                >
                  <span>{target.label}</span>
                  {target.note && <span className="palette-note">{target.note}</span>}
                </div>
              ))}
            </div>
          ))}
        </div>
      </Stack>
    </Dialog>
  )
}

/** What matches, by kind. Keys and members are looked for by the service, everything else is there already. */
function useGroups(text: string, { stores, storeId, pages }: Omit<Props, 'onClose'>): Group[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const matches = ({ label }: Target) => words.every((word) => label.toLowerCase().includes(word))
  const [typed] = useDebouncedValue(text.trim().slice(0, 100), 150)
  const wanted = words.length === 0 ? '' : typed
  const others = stores.filter(({ store }) => store.id !== storeId)
  const groups = [
    { label: texts.palette.pages, targets: [...pages, ...generalPages()].filter(matches) },
    {
      label: texts.palette.stores,
      targets: others.map((one) => ({ path: homeOf(one), label: one.store.name })).filter(matches),
    },
    { label: texts.palette.keys, targets: useKeys(storeId, wanted) },
    { label: texts.palette.members, targets: useMembers(storeId, wanted) },
  ]
  return groups
    .map(({ label, targets }) => ({ label, targets: targets.slice(0, label === texts.palette.pages ? 20 : MAX_FOUND) }))
    .filter(({ targets }) => targets.length > 0)
}

function generalPages(): Target[] {
  return [
    { path: paths.stores, label: texts.palette.allStores },
    { path: paths.newStore, label: texts.palette.newStore },
    ...ACCOUNT_PAGES.map((page) => ({ path: paths.accountPage(page), label: texts.palette.account[page] })),
  ]
}

function useKeys(storeId = '', wanted: string): Target[] {
  const { data = [] } = useRead(
    ['keys', storeId, 'found', wanted],
    (options) => findSome(sk.store(storeId).keys.list({ q: wanted, limit: MAX_FOUND }, options), MAX_FOUND),
    { enabled: useMay(storeId)('MANAGE_KEYS') && wanted !== '' },
  )
  return data.map(({ id, name, start }) => ({ path: paths.key(storeId, id), label: name, note: `${start}…` }))
}

function useMembers(storeId = '', wanted: string): Target[] {
  const { data = [] } = useRead(
    ['members', storeId, 'found', wanted],
    (options) => findSome(sk.store(storeId).members.list({ q: wanted, limit: MAX_FOUND }, options), MAX_FOUND),
    { enabled: useMay(storeId)('READ') && wanted !== '' },
  )
  return data.map(({ userId, name, email }) => ({
    path: paths.member(storeId, userId),
    label: name ?? email ?? userId,
    ...(name && email ? { note: email } : {}),
  }))
}
