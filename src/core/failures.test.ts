import { expect, test } from 'vitest'
import { shop } from '../../tests/shop.ts'

test('sealing that fails is counted each time, and logged once, without what it was about', async () => {
  const { api, sql, logs } = await shop({ alone: true })
  await sql('alter table event_watermark rename to event_watermark_away')
  const failures = async () => {
    const { text } = await api.get('/metrics')
    return Number(/^storekeeper_background_failures_total\{work="sealing"\} (\d+)$/m.exec(text)?.[1] ?? 0)
  }
  while ((await failures()) < 2) await new Promise((resolve) => setTimeout(resolve, 50))
  const failed = logs()
    .split('\n')
    .filter((line) => line.includes('"work":"sealing"'))
  expect(failed.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({
      level: 50,
      msg: 'failed',
      err: expect.not.objectContaining({ message: expect.anything() }),
    }),
  ])
  await sql('alter table event_watermark_away rename to event_watermark')
})
