// The label of an address, line by line as it stands on an envelope.

import { Text } from '@mantine/core'

export function Label({ lines }: { lines: readonly string[] }) {
  return (
    <Text component="address" className="label breaks">
      {lines.map((line, n) => (
        // A label may have the same line twice.
        <span key={n}>{line}</span>
      ))}
    </Text>
  )
}
