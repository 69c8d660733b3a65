// Verifying a key, as a back end does it.

import type { Verdict, Verification } from '@storekeeper/client'
import type { Command } from 'commander'
import { KEY_TYPE_NAMES, type KeyType } from '../../../../src/core/key-types.ts'
import { action, present, readInput, storeCommand } from '../command.ts'
import { EXIT, UsageError } from '../errors.ts'
import type { Column } from '../output.ts'
import { type App, targetOf } from '../session.ts'
import { addWords, oneOf, parseCount } from '../values.ts'

const FACTS: Column<Verdict>[] = [
  { title: 'code', of: ({ code }) => code, kind: 'state' },
  { title: 'key', of: ({ keyId }) => keyId },
  { title: 'store', of: ({ storeId }) => storeId },
  { title: 'name', of: ({ name }) => name },
  { title: 'type', of: ({ type }) => type },
  { title: 'permissions', of: ({ permissions }) => permissions },
  { title: 'owner', of: ({ owner }) => owner },
  { title: 'expires', of: ({ expiresAt }) => expiresAt, kind: 'time' },
  { title: 'credits', of: ({ credits }) => credits?.remaining },
  { title: 'left', of: ({ rateLimit }) => rateLimit && `${rateLimit.remaining} for ${rateLimit.resetSeconds} s` },
]

type VerifyOptions = {
  permission?: string[]
  any?: string[]
  type?: KeyType
  ip?: string
  cost?: number
  anyStore?: true
  explain?: true
}

export function addVerify(program: Command, app: App): void {
  const command = storeCommand(program, 'verify', 'verify a key that is read from stdin, with a service token')
    .option('--permission <names>', 'what it must be allowed to do; may be given again', addWords)
    .option('--any <names>', 'at least one of these; may be given again', addWords)
    .option('--type <type>', `the type it must have: ${KEY_TYPE_NAMES.join(', ')}`, oneOf(KEY_TYPE_NAMES))
    .option('--ip <address>', 'where the caller is')
    .option('--cost <count>', 'how many credits it costs', parseCount)
    .option('--any-store', 'a key of any store that the service token covers')
    .option('--explain', 'show every check; counts towards no limit and no usage')
  action<VerifyOptions>(command, app, async ({ sk, out, signal, io }, { options }) => {
    const key = (io.ask ? await io.ask('Key: ', { hidden: true }) : await readInput(io)).trim()
    if (key === '') throw new UsageError('There is no key on stdin.')
    const { permission, any, type, ip, cost, anyStore, explain } = options
    const question = {
      key,
      ...present({ permissions: permission, anyPermissions: any, ip, cost, anyStore, explain }),
      ...(type ? { types: [type] } : {}),
      ...(anyStore ? {} : present({ storeId: targetOf(app, options).storeId })),
    } as Verification
    const verdict = await sk.keys.verify(question, { signal, timeout: 10_000 })
    if (!verdict.valid) app.exitCode = EXIT.refused
    out.record(verdict, FACTS)
    if (verdict.checks && !out.json)
      out.table(verdict.checks, [
        { title: 'check', of: ({ code }) => code },
        { title: 'passed', of: ({ ok }) => (ok ? 'yes' : 'no') },
        { title: 'detail', of: ({ detail }) => detail },
      ])
  })
}
