// A QR code, drawn as one path. On white in both colour schemes: cameras want dark on light. What makes the code is loaded
// when the first one is shown.

import { Skeleton } from '@mantine/core'
import { useEffect, useState } from 'react'

const SIZE = 192

export function QrCode({ text, label }: { text: string; label: string }) {
  const [modules, setModules] = useState<boolean[][] | null>(null)
  useEffect(() => {
    void import('uqr').then(({ encode }) => setModules(encode(text, { ecc: 'M', border: 3 }).data))
  }, [text])
  if (!modules) return <Skeleton width={SIZE} height={SIZE} />
  const path = modules
    .flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : '')))
    .filter(Boolean)
    .join('')
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${modules.length} ${modules.length}`}
      width={SIZE}
      height={SIZE}
      shapeRendering="crispEdges"
    >
      <rect width="100%" height="100%" fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  )
}
