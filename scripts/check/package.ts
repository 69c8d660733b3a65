// npm run check:package: the npm packages of the committed state, each installed into an empty folder from its tarball, do what
// the docs say. The service is started by npx, tried with quickstart, and ended by Ctrl-C.

import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { packRelease } from '../release/pack.ts'
import { cloneInto, ended, expectEqual, inFolder, listening, PLAIN_ENV, processBelow, run, step } from './steps.ts'

await inFolder(async (folder) => {
  const [checkout, tarballs] = [join(folder, 'checkout'), join(folder, 'tarballs')]
  await step('A clean clone', () => cloneInto(checkout, 'copied'))
  await step('Build and pack', () => packRelease(checkout, tarballs, { sbom: false }).join(' '))
  const { version } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8'))
  const install = (name: string, ...packages: string[]) => {
    const home = join(folder, name)
    mkdirSync(home)
    writeFileSync(join(home, 'package.json'), '{ "private": true }')
    const paths = packages.map((each) => join(tarballs, `${each}-${version}.tgz`))
    run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', ...paths], { cwd: home })
    return home
  }

  const home = await step('Install the service into an empty folder', () => install('service', 'storekeeper'))
  const npx = (...words: string[]) => run('npx', ['--no', '--', ...words], { cwd: home })
  await step('It needs no other package of ours', () =>
    expectEqual('@storekeeper/ in node_modules', existsSync(join(home, 'node_modules/@storekeeper')), false),
  )

  const env = { ...PLAIN_ENV, PORT: '0', DATA_DIR: join(home, 'data') }
  const child = spawn('npx', ['--no', '--', 'storekeeper', 'start'], { cwd: home, env, detached: true })
  const url = await step('npx storekeeper start', () => listening(child))
  try {
    await step('V8 has its flags', () => {
      const { command } = processBelow(child.pid as number, 'storekeeper start')
      const flags = command.split(' ').filter((word) => word.startsWith('--'))
      expectEqual('The flags', flags, ['--max-semi-space-size=16', '--heap-growing-percent=30'])
      return flags.join(' ')
    })
    await step('npx storekeeper health', () => {
      const { port } = new URL(url)
      return run('npx', ['--no', '--', 'storekeeper', 'health'], { cwd: home, env: { ...env, PORT: port } }).trim()
    })
    await step('npx skp quickstart', () =>
      expectEqual('The last line', npx('skp', 'quickstart', url).trim().split('\n').at(-1), `Done. Next: ${url}/docs`),
    )
    await step('The dashboard and the docs are served', async () => {
      const page = await (await fetch(url)).text()
      const script = /src="(\/assets\/[^"]+\.js)"/.exec(page)?.[1]
      const pages = [script ?? '/no-script', '/docs/start', '/docs/operations', '/docs/changelog', '/openapi.json']
      for (const path of pages) expectEqual(path, (await fetch(url + path)).status, 200)
    })
  } finally {
    // To all processes of the terminal, as Ctrl-C does. The exit code is that of npx.
    process.kill(-(child.pid as number), 'SIGINT')
    await step('Ctrl-C ends it, and its database in order', async () => {
      await ended(child)
      expectEqual('Whether the database was shut down', wasShutDown(join(home, 'data')), true)
    })
  }
  await step('Started as systemd does, SIGTERM ends it', async () => {
    const program = spawn(join(home, 'node_modules/.bin/storekeeper'), ['start'], { cwd: home, env })
    await listening(program)
    program.kill('SIGTERM')
    expectEqual('The exit code', await ended(program), 0)
    expectEqual('Whether the database was shut down', wasShutDown(join(home, 'data')), true)
  })
  await step('npx storekeeper help', () => {
    expectEqual('The first line', npx('storekeeper', 'help').split('\n')[0], 'Usage: npx storekeeper <command>')
  })

  await step('Client and command line in folders of their own', async () => {
    const ofClient = install('client', 'storekeeper-client')
    const code = `import('@storekeeper/client').then(({ storekeeper }) => console.log(typeof storekeeper))`
    expectEqual('The client', run(process.execPath, ['-e', code], { cwd: ofClient }).trim(), 'function')
    const ofCli = install('cli', 'storekeeper-cli')
    expectEqual('skp --version', run('npx', ['--no', '--', 'skp', '--version'], { cwd: ofCli }).trim(), version)
    const installed = readdirSync(join(ofCli, 'node_modules')).filter((name) => !name.startsWith('.'))
    expectEqual('What skp needs', installed, ['@storekeeper', 'commander'])
  })
})
console.log('The packages work.')

function wasShutDown(data: string): boolean {
  return readFileSync(join(data, 'postgres.log'), 'utf8').trim().endsWith('database system is shut down')
}
