// All that is held about a customer, as a file.

import { useWrite } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { texts } from '../../texts.ts'

/** It has every version of every address, and the events about them. */
const TIMEOUT_MS = 120_000

export function useExport(storeId: string, externalId: string) {
  const download = useWrite(() => sk.store(storeId).customers.export(externalId, { timeout: TIMEOUT_MS }))
  const start = () =>
    download.mutate(undefined, {
      // It was read as JSON, so it has come whole.
      onSuccess: (data) => saveFile(texts.customers.fileName(externalId), JSON.stringify(data, null, 2)),
    })
  return { start, isPending: download.isPending, error: download.error }
}

function saveFile(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'application/json' }))
  const link = Object.assign(document.createElement('a'), { href: url, download: name.replaceAll('/', '_') })
  link.click()
  URL.revokeObjectURL(url)
}
