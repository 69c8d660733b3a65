// The export as a file. It is as large as it may be, so its bytes are handed to the browser as they come, which keeps what
// is large on disk; and its structure is followed as it comes, which tells a whole file from one that was cut off.

import { sk, withSession } from '../../app/client.ts'
import { jsonStructure } from './json-structure.ts'

export class Incomplete extends Error {}

type Progress = { signal: AbortSignal; onBytes: (bytes: number) => void }
const HELD_BYTES = 4 * 1024 * 1024

export async function readExport({ signal, onBytes }: Progress): Promise<Blob> {
  const reader = (await withSession(() => sk.user.download({ signal }))).getReader()
  const structure = jsonStructure()
  let file = new Blob([], { type: 'application/json' })
  let [held, heldBytes]: [Uint8Array<ArrayBuffer>[], number] = [[], 0]
  for (;;) {
    const { done, value } = await reader.read().catch((error: unknown) => {
      throw signal.aborted ? error : new Incomplete()
    })
    if (value) {
      structure.add(value)
      held.push(value)
      heldBytes += value.length
      onBytes(file.size + heldBytes)
    }
    if (done || heldBytes > HELD_BYTES) {
      file = new Blob([file, ...held], { type: file.type })
      held = []
      heldBytes = 0
    }
    if (done) break
  }
  if (!structure.isWhole()) throw new Incomplete()
  return file
}

/** Hands the file to the browser's downloads. */
export function saveFile(file: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(file)
  link.download = name
  link.click()
  // The download has begun by then; until it is revoked the file stays in memory.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}
