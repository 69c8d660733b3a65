import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { textOutput } from '../../../../src/cli/io.ts'
import { newProgress } from './progress.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

function progressOn(isTTY: boolean) {
  const written: string[] = []
  const progress = newProgress(textOutput(() => {}, { isTTY, write: (text) => written.push(text) }).stderr, 'file')
  const after = (ms: number) => {
    vi.advanceTimersByTime(ms)
    progress.readOne()
    progress.readBytes(617_283)
    progress.turn()
  }
  return { progress, written, after }
}

test('a quick scan says nothing but its summary', () => {
  const { progress, written, after } = progressOn(true)
  for (let i = 0; i < 9; i++) after(100)
  progress.summary()
  expect(written).toEqual(['0 found in 9 files, 5.6 MB, 0.9 s\n'])
})

test('on a terminal one line is written anew, and is gone before anything else is printed', () => {
  const { progress, written, after } = progressOn(true)
  after(1000)
  after(50)
  after(50)
  progress.clear()
  progress.foundOne()
  progress.clear()
  progress.summary()
  expect(written).toEqual([
    '0 found in 1 file, 617 kB, 1 s …',
    '\r\x1b[K',
    '0 found in 3 files, 1.9 MB, 1 s …',
    '\r\x1b[K',
    '1 found in 3 files, 1.9 MB, 1 s\n',
  ])
})

test('elsewhere there is a line every five seconds', () => {
  const { written, after } = progressOn(false)
  for (let i = 0; i < 2000; i++) after(6)
  expect(written).toEqual([
    '0 found in 167 files, 103 MB, 1 s …\n',
    '0 found in 1,001 files, 618 MB, 6 s …\n',
    '0 found in 1,835 files, 1.1 GB, 11 s …\n',
  ])
})

test('what cannot be read is told, up to a point, and counted in the end', () => {
  const { progress, written } = progressOn(false)
  for (let i = 1; i <= 1234; i++) progress.couldNotRead(`${i}.txt: no permission`)
  progress.summary()
  expect(written).toHaveLength(22)
  expect(written[0]).toBe('Could not read 1.txt: no permission\n')
  expect(written.at(-1)).toBe('0 found in 0 files, 0 B, 0.0 s; 1,234 could not be read\n')
})
