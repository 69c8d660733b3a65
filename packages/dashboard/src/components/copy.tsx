// Copies a text, and says so only when it was copied. Where the browser does not let a page copy (plain HTTP), the text is
// shown selected instead.

import { Button, type ButtonProps, Text, TextInput } from '@mantine/core'
import { Check, Copy as CopyIcon } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { texts } from '../texts.ts'

type Props = ButtonProps & { text: string; label?: string; onCopied?: () => void }

export function Copy({ text, label = texts.app.copy, onCopied, ...button }: Props) {
  const [state, setState] = useState<'ready' | 'copied' | 'by hand'>('ready')
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (state === 'by hand') field.current?.select()
    if (state !== 'copied') return
    const timer = setTimeout(() => setState('ready'), 2_000)
    return () => clearTimeout(timer)
  }, [state])
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      setState('copied')
      onCopied?.()
    } catch {
      setState('by hand')
    }
  }
  return (
    <>
      <Button
        size="xs"
        variant="default"
        leftSection={state === 'copied' ? <Check size={14} aria-hidden /> : <CopyIcon size={14} aria-hidden />}
        onClick={copy}
        {...button}
      >
        <span aria-live="polite">{state === 'copied' ? texts.app.copied : label}</span>
      </Button>
      {state === 'by hand' && (
        <div>
          <TextInput
            ref={field}
            readOnly
            value={text}
            aria-label={label}
            onFocus={(event) => event.target.select()}
            onCopy={onCopied}
          />
          <Text size="sm" role="alert">
            {texts.app.copyByHand}
          </Text>
        </div>
      )}
    </>
  )
}
