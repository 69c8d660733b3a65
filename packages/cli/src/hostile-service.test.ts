// Every command of skp at a service whose every text holds what a terminal would obey.

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { call, type World } from '../../../tests/command.ts'
import { faultyServer, type Reply, type Seen } from '../../../tests/faulty-server.ts'
import { user } from '../../../tests/skp.ts'
import { buildProgram } from './run.ts'

const WORDS = 'of the service'
const HOSTILE = `\x1b]0;${WORDS}\x07\x1b[2J\x9b31m\u202e`
/** The apostrophe ends a quoted word of a shell. */
const TOKEN = "token';date;'"
const OBEYED = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/

type Schema = {
  $ref?: string
  type?: string | string[]
  format?: string
  properties?: Record<string, Schema>
  additionalProperties?: Schema | boolean
  items?: Schema
}
type Operation = { responses: Record<string, { content?: Record<string, { schema: Schema }> }> }

const { paths, components } = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}

const [EVENT, PROBLEM, ME] = ['Event', 'Problem', 'Me'].map((name) => ({ $ref: `#/components/schemas/${name}` })) as [
  Schema,
  Schema,
  Schema,
]

/** What has the members that the schema names, and text wherever it says text or a number. */
function hostileValue(schema: Schema): unknown {
  const { $ref, type = 'string', format, properties = {}, additionalProperties, items = {} } = schema
  if ($ref) return hostileValue(components.schemas[$ref.replace('#/components/schemas/', '')] as Schema)
  const types = [type].flat()
  if (types.includes('array')) return [hostileValue(items)]
  if (types.includes('boolean')) return true
  // Text in brackets is part of a time that can be parsed.
  if (!types.includes('object')) return format === 'date-time' ? `(${HOSTILE}) 2027-01-31` : HOSTILE
  const named = Object.entries(properties).map(([name, member]) => [name, hostileValue(member)])
  const more = typeof additionalProperties === 'object' ? hostileValue(additionalProperties) : HOSTILE
  return Object.fromEntries(additionalProperties === false ? named : [...named, [HOSTILE, more]])
}

function operationAt({ method, path }: Seen): Operation | undefined {
  const [asked = ''] = path.split('?')
  const fits = (template: string) => new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`).test(asked)
  // A path without parameters comes before one with them.
  const found = Object.keys(paths)
    .filter(fits)
    .sort((one, other) => one.split('{').length - other.split('{').length)
  return found.map((template) => paths[template]?.[method.toLowerCase()]).find((operation) => operation)
}

function answer(response: ServerResponse, request: Seen): void {
  const [status, { content = {} }] = Object.entries(operationAt(request)?.responses ?? {})[0] ?? ['404', {}]
  const [type, { schema }] = Object.entries(content)[0] ?? ['', { schema: null }]
  response.writeHead(Number(status), { 'content-type': type, etag: `"${WORDS}\x9b31m"` })
  if (type === 'text/event-stream')
    return void response.write(`id: evt_1\ndata: ${JSON.stringify(hostileValue(EVENT))}\n\n`)
  if (schema === null) return void response.end()
  const value = hostileValue(schema) as Record<string, unknown>
  if (request.path.startsWith('/v1/auth/')) value.token = TOKEN
  if (request.path.includes('cursor=')) value.nextCursor = null
  response.end(JSON.stringify(value))
}

function refuse(response: ServerResponse): void {
  response.writeHead(403, { 'content-type': 'application/problem+json' })
  response.end(JSON.stringify(hostileValue(PROBLEM)))
}

/** Each command at least once. `login` stands before those that need it. */
const COMMANDS = [
  'login --with-token',
  'login --email a@example.com',
  'whoami',
  'stores list',
  'stores show',
  'stores create Shop',
  'stores use store_1',
  'members list',
  'members list --all',
  'members show user_1',
  'members invite a@example.com --role STAFF',
  'members update user_1 --role STAFF --keys revoke --yes',
  'members remove user_1 --yes',
  'customers list',
  'customers show c-1',
  'customers put c-1',
  'customers erase c-1 --yes',
  'customers export c-1',
  'customers import',
  'keys list',
  'keys list --all',
  'keys show key_1',
  'keys show key_1 --etag',
  'keys usage',
  'keys usage key_1',
  'keys advice key_1',
  'keys create Robot --type DEV --permission READ',
  'keys update key_1 --name Robot',
  'keys rotate key_1',
  'keys revoke key_1',
  'keys freeze --yes',
  'keys unfreeze',
  'keys credits key_1 --add 1',
  'keys import',
  'keys bulk disable key_1 --yes',
  'service-tokens list',
  'service-tokens create Gateway',
  'service-tokens revoke svc_1 --yes',
  'verify --explain',
  'billing list',
  'billing show addr_1',
  'billing create',
  'billing check',
  'events --after evt_1 --follow',
  'events',
  'webhooks list',
  'webhooks show wh_1',
  'webhooks create https://example.com/ --type *',
  'webhooks update wh_1 --enable',
  'webhooks rotate wh_1 --yes',
  'webhooks test wh_1',
  'webhooks deliveries wh_1',
  'webhooks redeliver wh_1 dlv_1',
  'webhooks delete wh_1 --yes',
  'api GET /v1/user',
  'api GET /v1/user/store/{store}/keys --all',
  'quickstart',
  'logout',
].map((words) => words.split(' '))

/** They ask no service, or have tests of their own for what it answers. */
const OTHERS = ['scan', 'completion', '__complete']

async function everyCommand(): Promise<Command[]> {
  const leaves = ({ commands }: Command): Command[] =>
    commands.flatMap((command) => (command.commands.length > 0 ? leaves(command) : [command]))
  let found: Command[] = []
  await call(async (argv, io) => {
    found = leaves(buildProgram({ io, argv, exitCode: 0 }))
    return 0
  }, [])
  return found
}

const nameOf = (command: Command): string =>
  command.parent?.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name()

const WAYS: { world: World; more?: string[] }[] = [
  { world: {} },
  { world: {}, more: ['--json'] },
  { world: { columns: 100, env: { NO_COLOR: '1' }, answers: Array(3).fill('y') } },
]

/** A user who is signed in at a service that answers so. */
async function userAt(reply: Reply) {
  const { url } = await faultyServer(reply)
  const env = { STOREKEEPER_URL: url, STOREKEEPER_TOKEN: 'x', STOREKEEPER_STORE: 'store_1' }
  return { url, ...user(undefined, env) }
}

test('whatever a service answers, no command prints what a terminal would obey', async () => {
  const commands = await everyCommand()
  const silent = new Set(COMMANDS)
  const named = new Set<Command>()
  for (const reply of [answer, refuse])
    for (const { world, more = [] } of WAYS) {
      const { skp } = await userAt(reply)
      for (const words of COMMANDS) {
        const command = commands.find((one) => `${words.join(' ')} `.startsWith(`${nameOf(one)} `)) as Command
        named.add(command)
        const options = more.filter((option) => command.options.some(({ long }) => long === option))
        let press = () => {}
        const { out, err, asked } = await skp([...words, ...options], {
          input: '{}',
          ...world,
          onListen: (interrupt) => void (press = interrupt),
          onPrint: () => words.includes('--follow') && press(),
        })
        const said = [out, err, ...asked.map(({ question }) => question)].join('\n').replaceAll('\r\x1b[K', '')
        expect(OBEYED.exec(said)?.[0], `${words.join(' ')}: ${JSON.stringify(said)}`).toBeUndefined()
        if (said.includes(WORDS)) silent.delete(words)
      }
    }
  // It says nothing that the service has written, and all others do, so that they were tried.
  expect([...silent]).toEqual([['logout']])
  expect(commands.filter((one) => !named.has(one)).map(nameOf)).toEqual(OTHERS)
})

test('JSON has the same value, also where a terminal would have obeyed it', async () => {
  const { done } = await userAt(answer)
  expect(JSON.parse((await done(['api', 'GET', '/v1/user'])).out)).toEqual(hostileValue(ME))
})

test('what is printed to be copied is quoted for a shell', async () => {
  const { url, done } = await userAt((response) => {
    response.writeHead(201, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ id: TOKEN, token: TOKEN, name: 'Shop' }))
  })
  /** What a shell makes of the words after a command. */
  const wordsOf = (command: string, text: string) =>
    spawnSync('sh', ['-c', `${command}() { printf '%s\\n' "$@"; }\n${text}`], { encoding: 'utf8' }).stdout.split('\n')
  const { out } = await done(['quickstart'])
  const [, second = '', third = ''] = out.match(/^curl [^]*?^ {2}-d .*$/gm) ?? []
  expect(wordsOf('curl', second)).toEqual([
    '-X',
    'POST',
    `${url}/v1/user/store`,
    '-H',
    `Authorization: Bearer ${TOKEN}`,
    '-H',
    'Content-Type: application/json',
    '-d',
    '{"name":"Analytical Engines"}',
    '',
  ])
  expect(wordsOf('curl', third)).toContain(`${url}/v1/user/store/${encodeURIComponent(TOKEN)}/keys`)
  const created = await done(['stores', 'create', 'Shop'])
  const [, command = ''] = /: (.*)\n$/.exec(created.err) ?? []
  expect(wordsOf('skp', command)).toEqual(['stores', 'use', TOKEN, ''])
})
