// The way of an embedded database to the next major version of PostgreSQL: a new cluster beside the old one, filled from it by
// whoever calls this, and then put in its place. Each step is one rename, so that a process killed at any moment leaves
// either the old database as it was, or the new one complete:
//
//   postgres.upgrading   is being filled. Killed here: the next run begins anew
//   postgres.upgraded    is complete, and its server was stopped
//   postgres-17          the old one, moved away once its server was stopped. Killed here: whoever opens the directory next
//                        does the last step (completeSwitch in cluster.ts)
//   postgres             the new one

import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { exists, findEarlierPackage, findInstallation } from './binaries.ts'
import {
  binariesFor,
  type Cluster,
  completeSwitch,
  locateCluster,
  makePrivate,
  makeSocketDir,
  upgradedIn,
} from './cluster.ts'
import { type Embedded, holdAlone, type Say, USER } from './embedded.ts'
import { initialize, majorOfBinaries, majorOfData, runningServer, stopServer, syncDirectory } from './server.ts'

export type Upgrade = {
  old: Embedded['connection']
  /** An empty database. */
  new: Embedded['connection']
  /** Puts the new database in the place of the old one, and returns where the old one is kept. */
  switch(): Promise<string>
  /** The old database stays as it was. Nothing happens after the switch. */
  close(): Promise<void>
}

type Versions = { from: string; to: string }

/** Null: the database is of our version already. */
export async function openUpgrade(
  dataDir: string,
  say: Say,
  installation = findInstallation(),
  findEarlier = findEarlierPackage,
): Promise<(Upgrade & Versions) | null> {
  const cluster = await locateCluster(dataDir, say, installation)
  const [from, to] = await Promise.all([majorOfData(cluster), majorOfBinaries(cluster)])
  if (from === to) return null
  if (Number(from) > Number(to))
    throw new Error(`The database in ${cluster.dataDir} is of PostgreSQL ${from}: there is no way back to ${to}.`)
  const bin = await binariesFor(cluster, installation, findEarlier(from))
  return { from, to, ...(await beginUpgrade(cluster, { ...cluster, bin }, `${cluster.pgdata}-${from}`, say)) }
}

/** `keepAt`: where the old database goes in the end. */
export async function beginUpgrade(cluster: Cluster, oldCluster: Cluster, keepAt: string, say: Say): Promise<Upgrade> {
  if (await exists(keepAt))
    throw new Error(`The old database is to be kept in ${keepAt}, which is there already: move it away or delete it.`)
  const newCluster: Cluster = {
    ...cluster,
    pgdata: `${cluster.pgdata}.upgrading`,
    socketDir: await makeSocketDir(cluster.dataDir, 'socket.upgrading', cluster.user),
    log: join(cluster.dataDir, 'postgres-upgrade.log'),
  }
  const upgraded = upgradedIn(cluster.dataDir)
  const held: Embedded[] = [await holdAlone(oldCluster, say)]
  const close = async () => {
    for (const each of held.splice(0).reverse()) await each.stop()
    await removeDraft(newCluster)
  }
  try {
    // What a killed run has left, the server of its new cluster included.
    await stopServer(newCluster)
    await rm(newCluster.pgdata, { recursive: true, force: true })
    await rm(upgraded, { recursive: true, force: true })
    await makePrivate(newCluster.pgdata, cluster.user)
    await initialize(newCluster, newCluster.pgdata, USER)
    held.push(await holdAlone(newCluster, say))
  } catch (error) {
    await close()
    throw error
  }
  const [from, to] = held as [Embedded, Embedded]
  return {
    old: from.connection,
    new: to.connection,
    close,
    async switch() {
      await to.stop()
      await rename(newCluster.pgdata, upgraded)
      await syncDirectory(cluster.dataDir)
      await from.stop()
      held.splice(0)
      await moveAway(oldCluster, keepAt)
      await completeSwitch(cluster.dataDir)
      await syncDirectory(cluster.dataDir)
      await removeDraft(newCluster)
      return keepAt
    },
  }
}

/** A former version of the service that has waited for the old server to stop may start it again at this very moment. */
async function moveAway(oldCluster: Cluster, keepAt: string): Promise<void> {
  const refuse = () => {
    throw new Error(
      `PostgreSQL in ${oldCluster.dataDir} was started by another process: stop that, and run the command again.`,
    )
  }
  if (await runningServer(oldCluster)) refuse()
  await rename(oldCluster.pgdata, keepAt)
  if (!(await runningServer(oldCluster, keepAt))) return
  await rename(keepAt, oldCluster.pgdata)
  refuse()
}

async function removeDraft({ pgdata, socketDir, log }: Cluster): Promise<void> {
  for (const path of [pgdata, socketDir, log]) await rm(path, { recursive: true, force: true })
}
