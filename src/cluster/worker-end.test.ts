import type { Worker } from 'node:cluster'
import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { endOf } from './worker-end.ts'

test('a worker that could not be reached any more has its end noticed all the same', async () => {
  const worker = new EventEmitter()
  const end = endOf(worker as unknown as Worker)
  // Two messages were on their way when it was killed.
  worker.emit('error', Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))
  worker.emit('error', Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))
  worker.emit('exit', null, 'SIGKILL')
  expect(await end).toBe('SIGKILL')
})
