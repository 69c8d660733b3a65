// The seal: checked in this browser, downloaded to be kept, and compared with heads that were kept before.

import { Alert, Button, FileButton, Group, List, Progress, Stack, Text, Textarea } from '@mantine/core'
import { CircleAlert, Download, ShieldCheck } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { Dialog } from '../../components/dialog.tsx'
import { Problem } from '../../components/problem.tsx'
import { texts } from '../../texts.ts'
import { checkSeal, type Head, parseHeads, type SealResult } from './seal.ts'

type Run = { done: number; of: number } | null

export function SealDialog({ storeId, onClose }: { storeId: string; onClose: () => void }) {
  const [kept, setKept] = useState('')
  const [run, setRun] = useState<Run>(null)
  const [result, setResult] = useState<SealResult | null>(null)
  const [error, setError] = useState<unknown>(null)
  const stop = useRef(new AbortController())
  useEffect(() => () => stop.current.abort(), [])
  const heads = parseHeads(storeId, kept)
  const check = async () => {
    stop.current.abort()
    stop.current = new AbortController()
    const { signal } = stop.current
    setError(null)
    setResult(null)
    setRun({ done: 0, of: 0 })
    try {
      setResult(await checkSeal(storeId, heads, (done, of) => setRun({ done, of }), signal))
    } catch (failure) {
      if (!signal.aborted) setError(failure)
    }
    setRun(null)
  }
  return (
    <Dialog opened onClose={onClose} title={texts.events.seal} size="lg">
      <Stack>
        <Text size="sm">{texts.events.sealHelp}</Text>
        <Text size="sm">{texts.events.sealLimits}</Text>
        <KeptHeads text={kept} found={heads.length} onChange={setKept} />
        {!globalThis.crypto?.subtle && <Alert color="yellow">{texts.events.sealInsecure}</Alert>}
        {run && (
          <Stack gap={4}>
            <Progress value={run.of ? (run.done / run.of) * 100 : 0} aria-label={texts.events.sealCheck} />
            <Text size="sm">{texts.events.sealProgress(run.done, run.of)}</Text>
          </Stack>
        )}
        {result && <Result storeId={storeId} result={result} />}
        {error !== null && <Problem error={error} />}
        <Group justify="flex-end">
          {run ? (
            <Button variant="default" onClick={() => stop.current.abort()}>
              {texts.events.sealStop}
            </Button>
          ) : (
            <Button disabled={!globalThis.crypto?.subtle} onClick={() => void check()}>
              {result ? texts.events.sealAgain : texts.events.sealCheck}
            </Button>
          )}
        </Group>
      </Stack>
    </Dialog>
  )
}

type KeptProps = { text: string; found: number; onChange: (text: string) => void }

function KeptHeads({ text, found, onChange }: KeptProps) {
  return (
    <Stack gap="xs">
      <Textarea
        label={texts.events.sealKept}
        description={texts.events.sealKeptHelp}
        autosize
        minRows={2}
        maxRows={6}
        spellCheck={false}
        value={text}
        error={text.trim() && found === 0 ? texts.events.sealNoHeads : undefined}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
      <Group>
        <FileButton onChange={(file) => void file?.text().then(onChange)}>
          {(props) => (
            <Button size="xs" variant="default" {...props}>
              {texts.events.sealFile}
            </Button>
          )}
        </FileButton>
      </Group>
    </Stack>
  )
}

function Result({ storeId, result: { head, hash, kept } }: { storeId: string; result: SealResult }) {
  const sound = hash === head.hash && kept.every(({ same }) => same)
  return (
    <Alert
      role="status"
      color={sound ? 'green' : 'red'}
      icon={sound ? <ShieldCheck size={20} aria-hidden /> : <CircleAlert size={20} aria-hidden />}
    >
      <Stack gap="xs" align="flex-start">
        <Text size="sm">{hash === head.hash ? texts.events.sealSound(head.seq) : texts.events.sealBroken}</Text>
        {kept.length > 0 && (
          <List size="sm">
            {kept.map(({ head: { seq, hash: old }, same }) => (
              <List.Item key={`${seq} ${old}`}>{texts.events.sealKeptResult(seq, same)}</List.Item>
            ))}
          </List>
        )}
        <Text size="xs" className="secret">
          {head.seq}:{head.hash}
        </Text>
        <DownloadHead storeId={storeId} head={head} />
      </Stack>
    </Alert>
  )
}

function DownloadHead({ storeId, head }: { storeId: string; head: Head }) {
  const line = `${JSON.stringify({ storeId, ...head })}\n`
  return (
    <Button
      component="a"
      size="xs"
      variant="default"
      leftSection={<Download size={14} aria-hidden />}
      href={`data:application/json;charset=utf-8,${encodeURIComponent(line)}`}
      download={`${storeId}-${head.seq}.json`}
    >
      {texts.events.sealDownload}
    </Button>
  )
}
