// Chance that can be had again: SEED=… gives all that is random in the tests the seed of the run that failed.

export const SEED = process.env.SEED ? Number(process.env.SEED) : undefined

export type Random = {
  seed: number
  /** From 0 up to 1. */
  next(): number
  pick<T>(values: T[]): T
}

export function newRandom(seed = SEED ?? Math.floor(Math.random() * 2 ** 32)): Random {
  let state = seed
  // mulberry32
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return { seed, next, pick: (values) => values[Math.floor(next() * values.length)] as (typeof values)[number] }
}
