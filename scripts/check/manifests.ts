// npm run check:manifests: each manifest against the schema of its kind, by the models of the npm package kubernetes-models, and
// what one refers to in another is there. yamllint holds the form, also of the workflows and the compose files, which
// docker compose reads.

import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expectEqual, inFolder, needPrograms, PLAIN_ENV, ROOT, run, step } from './steps.ts'

const MODELS = ['kubernetes-models@5.1.0', 'yaml@2.9.0']
const [MANIFESTS, COMPOSE] = ['deploy/kubernetes', 'deploy/docker']
const LINT =
  '{extends: default, rules: {line-length: {max: 130}, document-start: disable, truthy: {check-keys: false}}}'

type Manifest = {
  apiVersion: string
  kind: string
  metadata: { name: string }
  spec?: { selector?: Record<string, unknown>; template?: { metadata: { labels: unknown }; spec: unknown } }
}

needPrograms({ yamllint: 'yamllint' })
const hasPlugin = spawnSync('docker', ['compose', 'version']).status === 0
if (!hasPlugin) needPrograms({ 'docker-compose': 'docker-compose' })

await inFolder(async (folder) => {
  await step('Fetch the models', () => {
    run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', folder, ...MODELS])
  })
  const require = createRequire(join(folder, 'package.json'))
  const { parseAllDocuments } = require('yaml')
  const manifests = readdirSync(join(ROOT, MANIFESTS)).flatMap((name) =>
    parseAllDocuments(readFileSync(join(ROOT, MANIFESTS, name), 'utf8')).map((document: { toJS(): Manifest }) =>
      document.toJS(),
    ),
  ) as Manifest[]
  for (const manifest of manifests)
    await step(`${manifest.kind} ${manifest.metadata.name}`, async () => {
      await validate(folder, manifest)
      // A model that let anything pass would prove nothing.
      const wrong = structuredClone(manifest) as unknown as { metadata: unknown }
      wrong.metadata = { name: 1 }
      try {
        await validate(folder, wrong as Manifest)
      } catch {
        return
      }
      throw new Error('The model accepts a wrong manifest.')
    })
  await step('They refer to one another', () => {
    const of = (kind: string) => manifests.find((each) => each.kind === kind)?.spec as NonNullable<Manifest['spec']>
    const labels = of('Deployment').template?.metadata.labels
    expectEqual('The selector of the service', of('Service').selector, labels)
    expectEqual('The selector of the budget', of('PodDisruptionBudget').selector?.matchLabels, labels)
    expectEqual('The name of the secret', manifests.find(({ kind }) => kind === 'Secret')?.metadata.name, 'storekeeper')
  })
  await step(
    'yamllint',
    () => void run('yamllint', ['--strict', '-d', LINT, MANIFESTS, COMPOSE, '.github'], { cwd: ROOT }),
  )
  for (const name of ['compose.yaml', 'compose.postgres.yaml'])
    await step(`docker compose config, ${name}`, () => {
      const [program, ...args] = hasPlugin ? ['docker', 'compose'] : ['docker-compose']
      const env = { ...PLAIN_ENV, POSTGRES_PASSWORD: 'x', SERVER_SECRET: 'x' }
      run(program as string, [...args, '-f', join(ROOT, COMPOSE, name), 'config'], { env })
    })
})

async function validate(folder: string, manifest: Manifest): Promise<void> {
  const file = `node_modules/kubernetes-models/${manifest.apiVersion}/${manifest.kind}.js`
  const models = await import(pathToFileURL(join(folder, file)).href)
  new models[manifest.kind](manifest).validate()
}
