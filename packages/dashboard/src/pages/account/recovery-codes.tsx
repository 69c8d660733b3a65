// Recovery codes, which the service shows once: the way on opens when they were copied, downloaded, or somebody says that
// they have saved them.

import { Button, Checkbox, Code, Group, SimpleGrid, Stack, Text } from '@mantine/core'
import { Download } from 'lucide-react'
import { useState } from 'react'
import { useShownSecret, useUnsaved } from '../../app/unsaved.ts'
import { Copy } from '../../components/copy.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { texts } from '../../texts.ts'

export function RecoveryCodesDialog({ codes, onDone }: { codes: string[]; onDone: () => void }) {
  return (
    <Dialog
      opened
      onClose={onDone}
      title={texts.account.recoveryCodes}
      withCloseButton={false}
      closeOnEscape={false}
      closeOnClickOutside={false}
    >
      <SaveCodes codes={codes} onDone={onDone} />
    </Dialog>
  )
}

function SaveCodes({ codes, onDone }: { codes: string[]; onDone: () => void }) {
  const [saved, setSaved] = useState(false)
  useUnsaved(!saved)
  useShownSecret()
  const text = `${codes.join('\n')}\n`
  return (
    <Stack>
      <Text size="sm">{texts.account.saveCodes}</Text>
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="xs" data-testid="recovery-codes">
        {codes.map((code) => (
          <Code key={code} fz="md" ta="center">
            {code}
          </Code>
        ))}
      </SimpleGrid>
      <Group>
        <Copy text={text} size="sm" variant="filled" onCopied={() => setSaved(true)} />
        <Button
          component="a"
          variant="default"
          leftSection={<Download size={16} aria-hidden />}
          href={`data:text/plain;charset=utf-8,${encodeURIComponent(text)}`}
          download={texts.account.codesFile}
          onClick={() => setSaved(true)}
        >
          {texts.account.downloadCodes}
        </Button>
      </Group>
      <Checkbox
        label={texts.account.codesSaved}
        checked={saved}
        onChange={(event) => setSaved(event.currentTarget.checked)}
      />
      <Group justify="flex-end">
        <Button onClick={onDone} disabled={!saved}>
          {texts.secret.done}
        </Button>
      </Group>
    </Stack>
  )
}
