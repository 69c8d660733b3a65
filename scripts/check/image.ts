// npm run check:image: builds the image without a registry, and runs it without Docker. The base is a Debian from mmdebstrap with
// Node.js from npm; buildah builds; bubblewrap runs the file system of the image read-only, as uid 10001, without capabilities
// and without a network but its own loopback. Needs root, and some minutes; nothing is left behind.

import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  ended,
  expectEqual,
  inFolder,
  listening,
  needPrograms,
  PLAIN_ENV,
  processBelow,
  ROOT,
  run,
  step,
} from './steps.ts'

const UID = 10001
const NODE = '24.22.0'
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
/** Of this machine: npm may have to go through a proxy with a certificate of its own. */
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt'

needPrograms({
  buildah: 'buildah',
  mmdebstrap: 'mmdebstrap',
  bwrap: 'bubblewrap',
  nsenter: 'util-linux',
  setpriv: 'util-linux',
})
if (process.getuid?.() !== 0) {
  console.error('This check needs root: buildah and mmdebstrap make files of several users.')
  process.exit(2)
}

type ImageConfig = {
  User: string
  Entrypoint: string[]
  Cmd: string[]
  Env: string[]
  Healthcheck?: { Test: string[] }
  StopSignal: string
  Volumes: Record<string, unknown>
  Labels: Record<string, string>
}

await inFolder(async (folder) => {
  const storage = ['--root', join(folder, 'storage'), '--runroot', join(folder, 'run'), '--storage-driver', 'vfs']
  const buildah = (...args: string[]) => run('buildah', [...storage, ...args], { cwd: folder })

  await step('A Debian as small as possible, with Node.js', () => makeBase(folder, buildah))
  await step('Build the image', () => {
    const build = ['bud', '--isolation', 'chroot', '--format', 'docker', '--build-arg', 'BASE=localhost/base']
    buildah(...build, '--tag', 'storekeeper', '--file', join(ROOT, 'deploy/docker/Dockerfile'), ROOT)
  })
  const config = await step('Its settings', () => readImageConfig(buildah))
  const root = buildah('mount', buildah('from', '--pull=never', 'localhost/storekeeper').trim()).trim()
  await step(
    'Its size',
    () =>
      `${run('du', ['-sm', root]).split('\t')[0]} MB, of which ${run('du', ['-sm', join(root, 'app')]).split('\t')[0]} MB are /app`,
  )
  await step('Nothing in it that is not needed', () => {
    const found = run('find', [
      join(root, 'app'),
      '-not',
      '-path',
      '*/node_modules/*',
      '(',
      '-name',
      '*.ts',
      '-o',
      '-name',
      '*.test.*',
      '-o',
      '-name',
      '.git',
      ')',
    ])
    expectEqual('Sources in /app', found, '')
    const programs = ['typescript', 'vite', 'vitest', '@storekeeper'].filter(
      (name) => spawnSync('test', ['-e', join(root, 'app/node_modules', name)]).status === 0,
    )
    expectEqual('Dev dependencies in /app', programs, [])
  })
  await runImage(folder, root, config)
})
console.log('The image works.')

/** `localhost/base`: as far as the Dockerfile sees it, what node:24-trixie-slim is. */
function makeBase(folder: string, buildah: (...args: string[]) => string): string {
  const suite = /^VERSION_CODENAME=(\w+)$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'stable'
  const base = join(folder, 'base')
  run('mmdebstrap', ['--quiet', '--variant=minbase', '--include=ca-certificates', suite, base])
  copyFileSync(CERTIFICATES, join(base, CERTIFICATES))
  const name = `node-linux-${process.arch}`
  const packages = join(folder, 'packages')
  mkdirSync(packages)
  run('npm', [
    'install',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--prefix',
    packages,
    `${name}@${NODE}`,
    'npm@11',
  ])
  copyFileSync(join(packages, 'node_modules', name, 'bin/node'), join(base, 'usr/local/bin/node'))
  chmodSync(join(base, 'usr/local/bin/node'), 0o755)
  const modules = join(base, 'usr/local/lib/node_modules')
  mkdirSync(modules, { recursive: true })
  cpSync(join(packages, 'node_modules/npm'), join(modules, 'npm'), { recursive: true, verbatimSymlinks: true })
  run('ln', ['-s', '../lib/node_modules/npm/bin/npm-cli.js', join(base, 'usr/local/bin/npm')])
  chmodSync(join(modules, 'npm/bin/npm-cli.js'), 0o755)
  const file = join(base, '..', 'Basefile')
  writeFileSync(file, `FROM scratch\nCOPY base /\nENV PATH=${PATH} NODE_EXTRA_CA_CERTS=${CERTIFICATES}\n`)
  buildah('bud', '--isolation', 'chroot', '--format', 'docker', '--tag', 'base', '--file', file, folder)
  return `${suite}, Node.js ${NODE}`
}

function readImageConfig(buildah: (...args: string[]) => string): ImageConfig {
  const { Docker } = JSON.parse(buildah('inspect', '--type', 'image', 'localhost/storekeeper')) as {
    Docker: { config: ImageConfig }
  }
  const { User, Entrypoint, Cmd, StopSignal, Healthcheck, Volumes, Labels } = Docker.config
  expectEqual('User', User, `${UID}:${UID}`)
  expectEqual('Entrypoint', Entrypoint, ['/usr/bin/tini', '--', 'storekeeper'])
  expectEqual('Cmd', Cmd, ['start'])
  expectEqual('StopSignal', StopSignal, 'SIGTERM')
  expectEqual('Healthcheck', Healthcheck?.Test, ['CMD', 'storekeeper', 'health'])
  expectEqual('Volumes', Object.keys(Volumes), ['/data'])
  expectEqual('Licence', Labels['org.opencontainers.image.licenses'], 'Apache-2.0')
  return Docker.config
}

async function runImage(folder: string, root: string, { Entrypoint, Cmd, Env }: ImageConfig): Promise<void> {
  const data = join(folder, 'data')
  mkdirSync(data, { mode: 0o700 })
  chownSync(data, UID, UID)
  // The user of the image has to reach its file system.
  for (let path = dirname(root); path.startsWith(folder); path = dirname(path)) chmodSync(path, 0o755)
  const env = Env.flatMap((each) => ['--setenv', each.slice(0, each.indexOf('=')), each.slice(each.indexOf('=') + 1)])
  const sandbox = ['--unshare-all', '--as-pid-1', '--die-with-parent', '--clearenv', '--cap-drop', 'ALL']
  const files = ['--ro-bind', root, '/', '--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp', '--bind', data, '/data']
  const user = ['--reuid', `${UID}`, '--regid', `${UID}`, '--clear-groups', '--no-new-privs']
  const command = [...user, 'bwrap', ...sandbox, ...files, ...env, '--chdir', '/data', '--', ...Entrypoint, ...Cmd]
  const child = spawn('setpriv', command, { env: PLAIN_ENV })
  const log: string[] = []
  child.stdout.on('data', (part) => log.push(String(part)))
  const url = await step('Start, read-only, as uid 10001', () => listening(child))
  try {
    const { pid } = processBelow(child.pid as number, 'storekeeper start')
    const init = processBelow(child.pid as number, '/usr/bin/tini -- ')
    const inside = (...words: string[]) =>
      run('nsenter', ['--target', `${pid}`, '--mount', '--net', '--pid', '--wd', 'setpriv', ...user, ...words], {
        env: Object.fromEntries(
          Env.map((each) => [each.slice(0, each.indexOf('=')), each.slice(each.indexOf('=') + 1)]),
        ),
      })
    await step('Who runs, and where it can write', () => {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8')
      expectEqual('Uids', /^Uid:\t(.*)$/m.exec(status)?.[1], Array(4).fill(UID).join('\t'))
      expectEqual('Capabilities', /^CapEff:\t(.*)$/m.exec(status)?.[1], '0'.repeat(16))
      const namespacePids = (of: number) => /^NSpid:\t.*\t(\d+)$/m.exec(readFileSync(`/proc/${of}/status`, 'utf8'))?.[1]
      expectEqual('The pid of tini', namespacePids(init.pid), '1')
      const writable = inside(
        'sh',
        '-c',
        'for d in / /app /etc /usr /tmp /data; do touch $d/x 2>/dev/null && echo $d; done; true',
      )
      expectEqual('Folders that can be written', writable.trim().split('\n'), ['/tmp', '/data'])
      return 'only /tmp and /data'
    })
    await step('storekeeper health', () => inside('storekeeper', 'health').trim())
    await step('A user, a store, a key and an address over HTTP', () => {
      const said = inside('skp', 'quickstart', url.replace('0.0.0.0', '127.0.0.1'))
      expectEqual('Whether a key was created', /"key": "skp_prod_/.test(said), true)
    })
    await step('An operator command beside it', () => {
      inside('storekeeper', 'backup', '/data/storekeeper.backup')
    })
    process.kill(init.pid, 'SIGTERM')
    await step('SIGTERM ends it', async () => expectEqual('The exit code', await ended(child), 0))
  } finally {
    child.kill('SIGKILL')
  }
  await step('In order', () => {
    expectEqual('The end of the log', /"stopped"\}\s*$/.test(log.join('')), true)
    const postgres = readFileSync(join(data, 'postgres.log'), 'utf8').trim()
    expectEqual('The end of the log of PostgreSQL', postgres.endsWith('database system is shut down'), true)
  })
}
