// The data directories that tests copy (prepared-data.ts) are made once in a run, for all of its projects.

import { execFileSync } from 'node:child_process'
import { chmodSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { type Embedded, startEmbedded } from '../src/db/embedded/embedded.ts'
import { migrate } from '../src/db/migrate.ts'
import { runFolder } from './memory-disk.ts'
import type { Prepared } from './prepared-data.ts'

/** Each project has modules of its own. */
const run: typeof globalThis & { preparedData?: Promise<string> } = globalThis

export default async function setup(project: TestProject): Promise<() => void> {
  const folder = await prepareData()
  project.provide('preparedData', folder)
  return () => rmSync(folder, { recursive: true, force: true })
}

export function prepareData(): Promise<string> {
  run.preparedData ??= makeData()
  return run.preparedData
}

async function makeData(): Promise<string> {
  const folder = runFolder()
  chmodSync(folder, 0o755) // else root's PostgreSQL, which runs as another user, would have to live elsewhere
  const path = (prepared: Prepared) => join(folder, prepared)
  await startOnce(path('empty'))
  execFileSync('cp', ['-a', path('empty'), path('migrated')])
  await startOnce(path('migrated'), ({ connection }) => migrate(connection))
  return folder
}

async function startOnce(data: string, work: (server: Embedded) => Promise<void> = async () => {}): Promise<void> {
  const server = await startEmbedded(data, () => {})
  await work(server)
  await server.stop()
  rmSync(join(data, 'postgres.log'))
}
