// A field for a whole number, as the browser has it: small, and with the keypad of digits on a phone.

import { TextInput, type TextInputProps } from '@mantine/core'

type Props = Omit<TextInputProps, 'value' | 'onChange' | 'type'> & {
  value?: number | string
  onChange?: (value: number | '') => void
}

export function NumberInput({ value = '', onChange, ...props }: Props) {
  return (
    <TextInput
      type="number"
      inputMode="numeric"
      step={1}
      value={value}
      onChange={({ currentTarget: { value: text } }) => onChange?.(text === '' ? '' : Number(text))}
      {...props}
    />
  )
}
