import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { UNMEASURED } from '../../tests/unmeasured.ts'
import { newMetrics } from './metrics.ts'

test('a request counts as answered whichever way it came', async () => {
  const metrics = newMetrics(UNMEASURED)
  expect(metrics.answered()).toBe(0)
  metrics.request('GET', '/v1/user', 200, 0.01)
  metrics.bufferedCounter('POST', '/v1/keys/verify', 200)(0.001)
  expect(metrics.answered()).toBe(2)
})

test('what the database would have to tell is not waited for', async () => {
  const silent = () => new Promise<never>(() => {})
  const failing = () => Promise.reject(new Error('away'))
  const readings = { ...UNMEASURED.readings, sealingLag: silent, outboxAge: failing }
  const { text } = await newMetrics({ ...UNMEASURED, readings, databaseRole: silent }).read()
  const lines = text.split('\n')
  expect(lines).toContain('storekeeper_sealing_lag_seconds Nan')
  expect(lines).toContain('storekeeper_webhook_outbox_age_seconds Nan')
  expect(lines).toContain('storekeeper_database_role{role="none"} 1')
  expect(lines).toContain('storekeeper_database_role{role="primary"} 0')
})

test('the docs list every metric; alerts and dashboard are made of these alone', async () => {
  const exported = (await newMetrics(UNMEASURED).measure()).map(({ name, type }) => ({ name, type: String(type) }))
  const own = exported.map(({ name }) => name).filter((name) => !/^storekeeper_(process|nodejs)_/.test(name))
  const documented = readFileSync('docs/operations.md', 'utf8').matchAll(/^\| `(storekeeper_\w+)`/gm)
  expect([...documented].map(([, name]) => name).sort()).toEqual(own.sort())

  const series = new Set(
    exported.flatMap(({ name, type }) =>
      type === 'histogram' ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name],
    ),
  )
  for (const file of ['deploy/alerts.yml', 'deploy/grafana-dashboard.json']) {
    const named = readFileSync(file, 'utf8').match(/\bstorekeeper_\w+/g) ?? []
    expect(named.length).toBeGreaterThan(10)
    expect(named.filter((name) => !series.has(name))).toEqual([])
  }
})

test('each alert says what to do, in a section that exists, and has a test in which it rings', () => {
  const rules = readFileSync('deploy/alerts.yml', 'utf8')
    .split(/^ {6}- alert: /m)
    .slice(1)
  const tests = readFileSync('deploy/alerts.test.yml', 'utf8')
  const sections = [...readFileSync('docs/alarms.md', 'utf8').matchAll(/^## (.+)$/gm)].map(([, title = '']) =>
    title.toLowerCase().replaceAll(' ', '-'),
  )
  expect(rules.length).toBeGreaterThan(10)
  for (const rule of rules) {
    const [name = ''] = rule.split('\n')
    for (const part of ['summary: ', 'description: ', 'severity: ']) expect(rule, name).toContain(part)
    expect(sections, name).toContain(/runbook_url: https:\/\/keys\.example\/docs\/alarms#(\S+)/.exec(rule)?.[1])
    expect(tests, name).toMatch(new RegExp(`alertname: ${name}\n +exp_alerts:`))
    expect(tests, name).toContain(`alertname: ${name} }`)
  }
})
