/** The command for a shell that sends such a request. */
export function curlCommand(method: string, url: URL, body?: object): string {
  const lines = [`curl -X ${method} ${quoted(url.href)}`, `  -H "Authorization: Bearer $STOREKEEPER_TOKEN"`]
  if (method === 'POST') lines.push(`  -H "Idempotency-Key: $(uuidgen)"`)
  if (body) {
    lines.push("  -H 'Content-Type: application/json'")
    lines.push(`  -d ${quoted(JSON.stringify(body, null, 2))}`)
  }
  return lines.join(' \\\n')
}

/** One word. A quote inside single quotes: end them, an escaped quote, begin them again. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
