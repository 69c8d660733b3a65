// A walk through the API of a running service: signs up, makes a store, creates a key and a billing address, and prints
// each request as a curl line you can send yourself, with its answer.

import { randomBytes } from 'node:crypto'
import type { Command } from 'commander'
import type { Io } from '../../../../src/cli/io.ts'
import { plain } from '../../../../src/cli/plain.ts'
import { readServiceUrl } from '../config.ts'
import { quoted } from '../shell.ts'

type JsonObject = Record<string, unknown>

export function addQuickstart(program: Command, io: Io): void {
  program
    .command('quickstart')
    .argument('[url]')
    .allowExcessArguments()
    .description('try the API of a running service, request by request')
    .action((url: string | undefined) => quickstart(url ?? io.env.STOREKEEPER_URL ?? readServiceUrl(io.env), io))
}

async function quickstart(url: string, { print }: Io): Promise<void> {
  const base = url.replace(/\/$/, '')
  const ask = (title: string, path: string, body: JsonObject, token?: string) =>
    send(print, base, title, path, body, token)

  const account = {
    email: `ada-${randomBytes(4).toString('hex')}@example.com`,
    password: randomBytes(18).toString('base64url'),
  }
  const { token } = await ask('Sign up', '/v1/auth/sign-up', { ...account, name: 'Ada Lovelace' })
  const store = await ask('Make a store', '/v1/user/store', { name: 'Analytical Engines' }, String(token))
  const storeId = encodeURIComponent(String(store.id))
  await ask(
    'Create an API key. The full key is shown only in this response',
    `/v1/user/store/${storeId}/keys`,
    {
      name: 'Checkout',
      type: 'PROD',
      permissions: ['READ', 'WRITE'],
      metadata: { description: 'Used by the checkout page' },
    },
    String(token),
  )
  await ask(
    'Create a billing address. The response has it in normal form',
    `/v1/store/${storeId}/billing`,
    {
      firstName: 'Ada',
      lastName: 'Lovelace',
      addressLine1: '1 Infinite Loop',
      city: 'Cupertino',
      state: 'California',
      postalCode: '95014',
      country: 'United States',
      phone: '+1 408 555 0123',
      isDefault: true,
    },
    String(token),
  )
  print(`Done. Next: ${base}/docs`)
}

async function send(
  print: (line: string) => void,
  base: string,
  title: string,
  path: string,
  body: JsonObject,
  token?: string,
): Promise<JsonObject> {
  const json = JSON.stringify(body)
  print(`# ${title}`)
  print(`curl -X POST ${quoted(base + path)} \\`)
  if (token) print(`  -H ${quoted(`Authorization: Bearer ${token}`)} \\`)
  print(`  -H 'Content-Type: application/json' \\`)
  print(`  -d ${quoted(json)}`)
  const headers = { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) }
  const response = await fetch(base + path, { method: 'POST', headers, body: json }).catch(() => {
    throw new Error(
      `Nothing answers at ${base}. Start the service in another terminal, or pass its URL: skp quickstart http://host:port`,
    )
  })
  const answer = (await response.json()) as JsonObject
  print(`\n${response.status} ${JSON.stringify(answer, null, 2)}\n`)
  if (!response.ok) throw new Error(`The request failed: ${plain(String(answer.detail ?? response.statusText))}`)
  return answer
}
