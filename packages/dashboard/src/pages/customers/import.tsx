// Importing customers: paste or choose a file, look at what was understood, send it, and read an answer for each line.

import { Alert, Button, FileButton, Group, Progress, Stack, Text, Textarea } from '@mantine/core'
import type { ImportResult } from '@storekeeper/client'
import { FileUp } from 'lucide-react'
import { useMemo, useState } from 'react'
import { useParams } from 'wouter'
import { useWrite } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { useTyped } from '../../app/unsaved.ts'
import { AllowedButton } from '../../components/allowed.tsx'
import { Page } from '../../components/page.tsx'
import { Problem } from '../../components/problem.tsx'
import { texts } from '../../texts.ts'
import { type Parsed, parseImport, partsOf } from './import-lines.ts'
import { ImportTable } from './import-table.tsx'

const TIMEOUT_MS = 120_000

export default function ImportCustomersPage() {
  const { storeId = '' } = useParams()
  const [text, setText] = useState('')
  useTyped(text !== '')
  const parsed = useMemo(() => tryParse(text), [text])
  return (
    <Page title={texts.customers.importTitle} about={texts.customers.importAbout}>
      <Stack>
        <Textarea
          label={texts.customers.importText}
          description={texts.customers.importHelp}
          value={text}
          autosize
          minRows={6}
          maxRows={14}
          spellCheck={false}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <Group>
          <FileButton accept=".csv,.tsv,.json,.jsonl,.ndjson,.txt" onChange={(file) => void file?.text().then(setText)}>
            {(props) => (
              <Button {...props} variant="default" leftSection={<FileUp size={16} aria-hidden />}>
                {texts.customers.importFile}
              </Button>
            )}
          </FileButton>
        </Group>
        {parsed instanceof Error ? (
          text.trim() !== '' && (
            <Alert color="yellow" title={texts.customers.importUnread}>
              {parsed.message}
            </Alert>
          )
        ) : (
          <Import key={text} storeId={storeId} parsed={parsed} />
        )}
      </Stack>
    </Page>
  )
}

function tryParse(text: string): Parsed | Error {
  try {
    return parseImport(text)
  } catch (error) {
    return error as Error
  }
}

function Import({ storeId, parsed: { lines, ignored } }: { storeId: string; parsed: Parsed }) {
  const [results, setResults] = useState<ImportResult[]>([])
  const write = useWrite(
    (customers: typeof lines, options) =>
      sk.store(storeId).customers.import({ customers }, { ...options, timeout: TIMEOUT_MS }),
    { changes: [['customers', storeId]] },
  )
  const send = async () => {
    const done = [...results]
    for (const part of partsOf(lines.slice(done.length))) {
      // What failed is shown, and the rest can be sent on its own.
      const answer = await write.mutateAsync(part).catch(() => null)
      if (!answer) return
      done.push(...answer.results)
      setResults([...done])
    }
  }
  const addresses = lines.reduce((sum, line) => sum + (line.addresses?.length ?? 0), 0)
  const isDone = results.length === lines.length
  const count = (status: string) => results.filter((result) => result.status === status).length
  return (
    <Stack>
      <Text fw={600} role="status">
        {isDone
          ? texts.customers.importDone(count('created'), count('updated'), count('failed'))
          : texts.customers.importFound(lines.length, addresses)}
      </Text>
      {ignored.length > 0 && <Alert color="yellow">{texts.customers.importIgnored(ignored.join(', '))}</Alert>}
      {write.isPending && (
        <div>
          <Progress
            value={(results.length / lines.length) * 100}
            aria-label={texts.customers.importProgress(results.length, lines.length)}
          />
          <Text size="sm">{texts.customers.importProgress(results.length, lines.length)}</Text>
        </div>
      )}
      {write.error && <Problem error={write.error} />}
      {!isDone && (
        <Group>
          <AllowedButton
            storeId={storeId}
            permission="MANAGE_CUSTOMERS"
            loading={write.isPending}
            onClick={() => void send()}
          >
            {results.length > 0 ? texts.customers.importGoOn(results.length) : texts.customers.importNow(lines.length)}
          </AllowedButton>
        </Group>
      )}
      <ImportTable storeId={storeId} lines={lines} results={results} />
    </Stack>
  )
}
