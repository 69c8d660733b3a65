import { expect, test } from 'vitest'
import { plot, sparkline } from './plot.ts'

const DAY = { from: '2026-11-01T00:00:00.000Z', to: '2026-11-02T00:00:00.000Z', interval: 'hour' }

test('a bar for each hour, as high as its count, with the largest number beside it', () => {
  const counts = [
    { at: '2026-11-01T00:00:00.000Z', count: 320 },
    { at: '2026-11-01T01:00:00.000Z', count: 160 },
    { at: '2026-11-01T02:00:00.000Z', count: 1 },
    { at: '2026-11-01T23:00:00.000Z', count: 90 },
  ]
  expect(plot({ ...DAY, counts }, 80)).toEqual([
    '320 ┤█',
    '    ┤█',
    `    ┤██${' '.repeat(21)}▁`,
    `  0 ┤██▁${' '.repeat(20)}█`,
    '     11-01 00:00Z 11-02 00:00Z  each bar is one hour',
  ])
})

test('what does not fit is put together, and nothing is lost', () => {
  const counts = Array.from({ length: 720 }, (_, n) => ({
    at: new Date(Date.parse(DAY.from) + n * 3_600_000).toISOString(),
    count: 2,
  }))
  const lines = plot({ ...DAY, to: '2026-12-01T00:00:00.000Z', counts }, 80)
  expect(lines[0]).toMatch(/^20 ┤█{72}$/)
  expect(lines.at(-1)).toContain('each bar is 10 hours')
  for (const line of lines.slice(0, -1)) expect([...line].length).toBeLessThanOrEqual(80)
})

test('nothing at all is an empty plot', () => {
  expect(plot({ ...DAY, counts: [] }).slice(0, 4)).toEqual(['0 ┤', '  ┤', '  ┤', '0 ┤'])
  expect(sparkline([0, 1, 8])).toBe(' ▁█')
})
