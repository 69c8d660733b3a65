import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { newClusterMetrics } from './metrics.ts'

test('counts of workers are added up and never fall; gauges are those of the workers that are there', async () => {
  const metrics = newClusterMetrics()
  const worker = () => {
    const registers = [new Registry()]
    const count = new Counter({ name: 'requests_total', help: 'Requests.', labelNames: ['route'], registers })
    const times = new Histogram({ name: 'seconds', help: 'Durations.', buckets: [1], registers })
    const open = new Gauge({ name: 'open', help: 'Open now.', registers })
    const lag = new Gauge({ name: 'lag', help: 'The same for all.', aggregator: 'max', registers })
    return { count, times, open, lag, measure: () => (registers[0] as Registry).getMetricsAsJSON() }
  }
  const [one, two] = [worker(), worker()]
  for (const [id, { count, times, open, lag, measure }] of [one, two].entries()) {
    count.inc({ route: '/a' }, 5)
    times.observe(0.5)
    open.set(3)
    lag.set(id + 7)
    metrics.report(id, await measure())
  }
  const lines = async () => (await metrics.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  const counts = ['requests_total{route="/a"} 10', 'seconds_count 2', 'seconds_bucket{le="1"} 2']
  expect(await lines()).toEqual(expect.arrayContaining([...counts, 'open 6', 'lag 8']))
  metrics.end(1)
  expect(await lines()).toEqual(expect.arrayContaining([...counts, 'open 3', 'lag 7']))
  metrics.end(0)
  expect(await lines()).toEqual(expect.arrayContaining(counts))
  expect((await lines()).filter((line) => /^(open|lag) /.test(line))).toEqual([])
})

test('nothing is lost of two workers that end at the same moment', async () => {
  const metrics = newClusterMetrics()
  for (const id of [0, 1]) {
    const registers = [new Registry()]
    new Counter({ name: 'requests_total', help: 'Requests.', registers }).inc(5)
    metrics.report(id, await (registers[0] as Registry).getMetricsAsJSON())
  }
  metrics.end(0)
  metrics.end(1)
  expect(await metrics.text()).toContain('requests_total 10')
})
