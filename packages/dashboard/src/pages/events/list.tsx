import { Button, Group, Paper, Skeleton, Stack, Text } from '@mantine/core'
import { ShieldCheck } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { useParams } from 'wouter'
import { useMay, useMe } from '../../app/me.ts'
import { Empty } from '../../components/empty.tsx'
import { Page } from '../../components/page.tsx'
import { Problem } from '../../components/problem.tsx'
import { texts } from '../../texts.ts'
import { useClock } from './clock.ts'
import { EventFilters, useFilters } from './filters.tsx'
import { useNames } from './names.ts'
import { EventRow } from './row.tsx'
import { SealDialog } from './seal-dialog.tsx'
import { useTrail } from './trail.ts'

export default function EventsPage() {
  const { storeId = '' } = useParams()
  const [sealOpened, setSealOpened] = useState(false)
  const clock = useClock()
  const may = useMay(storeId)('VIEW_EVENTS')
  return (
    <Page
      title={texts.nav.events}
      about={texts.events.about}
      actions={
        may && (
          <>
            <Button
              variant={clock.isUtc ? 'light' : 'default'}
              aria-pressed={clock.isUtc}
              title={clock.isUtc ? texts.events.showLocal : texts.events.showUtc}
              onClick={clock.toggle}
            >
              {texts.events.inUtc}
            </Button>
            <Button
              variant="default"
              leftSection={<ShieldCheck size={16} aria-hidden />}
              onClick={() => setSealOpened(true)}
            >
              {texts.events.seal}
            </Button>
          </>
        )
      }
    >
      {may ? <Trail storeId={storeId} clock={clock} /> : <Text>{texts.app.needs('VIEW_EVENTS')}</Text>}
      {sealOpened && <SealDialog storeId={storeId} onClose={() => setSealOpened(false)} />}
    </Page>
  )
}

function Trail({ storeId, clock }: { storeId: string; clock: ReturnType<typeof useClock> }) {
  const userId = useMe().data?.user.id ?? ''
  const [filters, change] = useFilters()
  const { trail, showNew, readOlder, retry } = useTrail(storeId, userId, filters)
  const { shown, waiting, cursor, error } = trail
  const [opened, setOpened] = useState<string | null>(null)
  const [place, isReading] = useReading(opened !== null)
  useEffect(() => {
    if (waiting.length > 0 && !isReading) showNew()
  })
  const names = useNames(storeId, shown)
  const isFiltered = Object.keys(filters).length > 0
  return (
    <Stack>
      <EventFilters filters={filters} change={change} names={names} />
      {error !== null && <Problem error={error} retry={retry} />}
      <div role="status">
        {waiting.length > 0 && (
          <Paper withBorder p="xs">
            <Group justify="center">
              <Text size="sm">{texts.events.new(waiting.length)}</Text>
              <Button size="compact-sm" onClick={showNew}>
                {texts.events.showNew}
              </Button>
            </Group>
          </Paper>
        )}
      </div>
      {cursor === undefined && error === null && <Waiting />}
      {cursor !== undefined && shown.length === 0 && (
        <Empty title={isFiltered ? texts.events.nothingFound : texts.events.none} />
      )}
      <ul className={shown.length > 0 ? 'rows' : 'plain-list'} ref={place}>
        {shown.map((event) => (
          <EventRow
            key={event.id}
            event={event}
            names={names}
            clock={clock}
            opened={opened === event.id}
            onToggle={() => setOpened(opened === event.id ? null : event.id)}
            change={change}
          />
        ))}
      </ul>
      {cursor && (
        <Button variant="default" onClick={() => void readOlder()}>
          {texts.events.older}
        </Button>
      )}
    </Stack>
  )
}

function Waiting() {
  return (
    <Stack gap="xs" role="status" aria-busy="true" aria-label={texts.app.loading}>
      {[1, 2, 3, 4].map((n) => (
        <Skeleton key={n} height={64} />
      ))}
    </Stack>
  )
}

/** Whether somebody reads: the pointer or the focus is in the list, an event is open, or the page is scrolled. */
function useReading(hasOpened: boolean) {
  const place = useRef<HTMLUListElement>(null)
  const [isInside, setInside] = useState(false)
  useEffect(() => {
    const look = () => setInside(scrollY > 0 || (place.current?.matches(':hover, :focus-within') ?? false))
    const names = ['scroll', 'pointermove', 'focusin', 'focusout'] as const
    for (const name of names) addEventListener(name, look, { passive: true })
    return () => {
      for (const name of names) removeEventListener(name, look)
    }
  }, [])
  return [place, isInside || hasOpened] as const
}
