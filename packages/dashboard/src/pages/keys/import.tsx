// Keys from elsewhere: pasted or from a file, looked at, sent in parts, and answered line by line. What is typed here are
// secrets: it is kept in no storage, and gone from the page once it is sent, but for lines that were refused. Those can be
// corrected.

import {
  Button,
  FileButton,
  Grid,
  Group,
  Paper,
  Progress,
  SegmentedControl,
  Stack,
  Table,
  Text,
  Textarea,
  Title,
} from '@mantine/core'
import type { KeyImportResult } from '@storekeeper/client'
import { Download } from 'lucide-react'
import { useMemo, useState } from 'react'
import { Link, useParams } from 'wouter'
import { sk, withSession } from '../../app/client.ts'
import { paths } from '../../app/paths.ts'
import { queryClient } from '../../app/query.ts'
import { useUnsaved } from '../../app/unsaved.ts'
import { AllowedButton } from '../../components/allowed.tsx'
import { Page } from '../../components/page.tsx'
import { Problem } from '../../components/problem.tsx'
import { texts } from '../../texts.ts'
import { inParts, type Line, onlyLines, parseLines } from './import-lines.ts'
import { KEY_TYPES } from './key-form.ts'
import { PermissionPicker } from './permission-picker.tsx'

const PREVIEWED = 10

type Answered = { name: string; result: KeyImportResult }

/** The places of the lines that were refused. */
const refusedOf = (answered: Answered[]) => answered.flatMap(({ result }, n) => (result.status === 'failed' ? [n] : []))

export default function ImportKeysPage() {
  const { storeId = '' } = useParams()
  const [text, setText] = useState('')
  const [type, setType] = useState('PROD')
  const [permissions, setPermissions] = useState<string[]>([])
  const parsed = useParsed(text, type, permissions)
  const { send, clear, answered, total, error, isSending } = useImport(storeId)
  const start = () =>
    void send(parsed.lines).then((answers) => {
      if (answers) setText(onlyLines(text, refusedOf(answers)))
    })
  const isDone = answered.length > 0 && answered.length === total
  useUnsaved((text !== '' && !isDone) || isSending)
  return (
    <Page title={texts.importKeys.title} about={texts.importKeys.about}>
      {isDone ? (
        <Receipt storeId={storeId} answered={answered} onCorrect={clear} />
      ) : (
        <Grid>
          <Grid.Col span={{ base: 12, md: 7 }}>
            <Stack>
              <Source text={text} fault={parsed.fault} onChange={setText} />
              {parsed.lines.length > 0 && <Preview lines={parsed.lines} />}
              {total > 0 && (
                <Stack gap={4} role="status">
                  <Progress value={(answered.length / total) * 100} aria-label={texts.importKeys.progress(0, total)} />
                  <Text size="sm">{texts.importKeys.progress(answered.length, total)}</Text>
                </Stack>
              )}
              {error !== null && <Problem error={error} retry={start} />}
              <Group>
                <AllowedButton
                  storeId={storeId}
                  permission="MANAGE_KEYS"
                  loading={isSending}
                  disabled={parsed.lines.length === 0}
                  onClick={start}
                >
                  {texts.importKeys.send(parsed.lines.length)}
                </AllowedButton>
                <Button component={Link} href={paths.keys(storeId)} variant="default">
                  {texts.app.cancel}
                </Button>
              </Group>
            </Stack>
          </Grid.Col>
          <Grid.Col span={{ base: 12, md: 5 }}>
            <Paper withBorder p="md">
              <Stack>
                <div>
                  <Title order={2} size="h5">
                    {texts.importKeys.defaults}
                  </Title>
                  <Text size="sm" c="dimmed">
                    {texts.importKeys.defaultsHelp}
                  </Text>
                </div>
                <SegmentedControl aria-label={texts.keys.type} data={KEY_TYPES} value={type} onChange={setType} />
                <PermissionPicker storeId={storeId} value={permissions} onChange={setPermissions} />
              </Stack>
            </Paper>
          </Grid.Col>
        </Grid>
      )}
    </Page>
  )
}

function useParsed(text: string, type: string, permissions: string[]): { lines: Line[]; fault: string | null } {
  return useMemo(() => {
    try {
      return { lines: parseLines(text, { type, permissions }), fault: null }
    } catch (error) {
      return { lines: [], fault: texts.importKeys.unreadable((error as Error).message) }
    }
  }, [text, type, permissions])
}

/** Part by part. Sent again after a failure, what is there already `exists`: an import changes nothing twice. */
function useImport(storeId: string) {
  const [answered, setAnswered] = useState<Answered[]>([])
  const [total, setTotal] = useState(0)
  const [error, setError] = useState<unknown>(null)
  const [isSending, setSending] = useState(false)
  /** Null when it broke off. */
  const send = async (lines: Line[]): Promise<Answered[] | null> => {
    const answers: Answered[] = []
    setSending(true)
    setError(null)
    setTotal(lines.length)
    setAnswered([])
    try {
      for (const keys of inParts(lines)) {
        const options = { idempotencyKey: crypto.randomUUID(), timeout: 60_000 }
        const { results } = await withSession(() => sk.store(storeId).keys.import({ keys }, options))
        answers.push(...results.map((result, n) => ({ name: keys[n]?.name ?? '', result })))
        setAnswered([...answers])
      }
      return answers
    } catch (failure) {
      setError(failure)
      return null
    } finally {
      setSending(false)
      await queryClient.invalidateQueries({ queryKey: ['keys', storeId] })
    }
  }
  const clear = () => {
    setAnswered([])
    setTotal(0)
  }
  return { send, clear, answered, total, error, isSending }
}

function Source({ text, fault, onChange }: { text: string; fault: string | null; onChange: (text: string) => void }) {
  return (
    <Stack gap="xs">
      <Textarea
        label={texts.importKeys.lines}
        description={texts.importKeys.linesHelp}
        placeholder={texts.importKeys.example}
        rows={8}
        spellCheck={false}
        autoComplete="off"
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
        value={text}
        error={fault}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
      <Group>
        <FileButton accept=".csv,.tsv,.json,.jsonl,.txt" onChange={(file) => void file?.text().then(onChange)}>
          {(props) => (
            <Button size="xs" variant="default" {...props}>
              {texts.importKeys.file}
            </Button>
          )}
        </FileButton>
      </Group>
    </Stack>
  )
}

function Preview({ lines }: { lines: Line[] }) {
  return (
    <Stack gap="xs">
      <Title order={2} size="h5">
        {texts.importKeys.preview(lines.length)}
      </Title>
      <Table.ScrollContainer minWidth={480}>
        <Table>
          <Table.Thead>
            <Table.Tr>
              {texts.importKeys.columns.map((column) => (
                <Table.Th key={column}>{column}</Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {lines.slice(0, PREVIEWED).map(({ name, value, sha256, type, permissions, owner }, n) => (
              <Table.Tr key={n}>
                <Table.Td>{name}</Table.Td>
                <Table.Td>{masked(value, sha256)}</Table.Td>
                <Table.Td>{type}</Table.Td>
                <Table.Td>{Array.isArray(permissions) ? permissions.join(', ') : ''}</Table.Td>
                <Table.Td>{owner}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {lines.length > PREVIEWED && <Text size="sm">{texts.overview.more(lines.length - PREVIEWED)}</Text>}
    </Stack>
  )
}

function masked(value: unknown, sha256: unknown): string {
  if (typeof value === 'string') return `${value.length >= 16 ? value.slice(0, 4) : ''}…`
  return typeof sha256 === 'string' ? `SHA-256 ${sha256.slice(0, 6)}…` : texts.importKeys.noValue
}

type ReceiptProps = { storeId: string; answered: Answered[]; onCorrect: () => void }

function Receipt({ storeId, answered, onCorrect }: ReceiptProps) {
  const count = (status: string) => answered.filter(({ result }) => result.status === status).length
  const failed = refusedOf(answered)
  return (
    <Stack>
      <Text role="status" fw={600}>
        {texts.importKeys.done(count('created'), count('exists'), failed.length)}
      </Text>
      {failed.length > 0 && (
        <Table.ScrollContainer minWidth={400}>
          <Table captionSide="top">
            <Table.Caption>{texts.importKeys.failed}</Table.Caption>
            <Table.Tbody>
              {failed.slice(0, 200).map((n) => (
                <Table.Tr key={n}>
                  <Table.Td>{n + 1}</Table.Td>
                  <Table.Td>{answered[n]?.name}</Table.Td>
                  <Table.Td>{refusalOf(answered[n]?.result.errors)}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
      <Group>
        {failed.length > 0 && <Button onClick={onCorrect}>{texts.importKeys.correct}</Button>}
        <Button component={Link} href={paths.keys(storeId)} variant={failed.length > 0 ? 'default' : 'filled'}>
          {texts.importKeys.toKeys}
        </Button>
        <Button
          component="a"
          variant="default"
          leftSection={<Download size={14} aria-hidden />}
          href={`data:text/csv;charset=utf-8,${encodeURIComponent(resultsCsv(answered))}`}
          download="import.csv"
        >
          {texts.importKeys.results}
        </Button>
      </Group>
    </Stack>
  )
}

/** What was refused, field by field: of "This must not be empty" alone nobody knows what it is about. */
function refusalOf(errors: KeyImportResult['errors'] = []): string {
  return errors
    .map(({ pointer, detail }) =>
      texts.importKeys.refusal(pointer.replace(/^.*keys\/\d+\//, '').replace(/^#\/?/, ''), detail),
    )
    .join(' ')
}

/** A cell of somebody else's text: quoted, and never a formula. */
const cell = (text: string) => `"${text.replace(/^(?=[=+\-@\t\r])/, "'").replaceAll('"', '""')}"`

function resultsCsv(answered: Answered[]): string {
  const rows = answered.map(({ name, result: { status, id = '', errors = [] } }, n) =>
    [String(n + 1), name, status, id, refusalOf(errors)].map(cell).join(','),
  )
  return ['line,name,status,id,errors', ...rows].map((row) => `${row}\r\n`).join('')
}
