// Ctrl-C and SIGTERM: the first asks to come to an end in order, a second one to end at once.

/** npm forwards a Ctrl-C that the terminal has already sent to this process: within this time both are one. */
const SAME_SIGNAL_MS = 1_000
const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** Gives back how to stop listening. */
export function onInterrupt(first: (signal: NodeJS.Signals) => void, second: () => void): () => void {
  let firstAt: number | null = null
  const listener = (signal: NodeJS.Signals) => {
    if (firstAt !== null) return performance.now() - firstAt > SAME_SIGNAL_MS ? second() : undefined
    firstAt = performance.now()
    first(signal)
  }
  for (const signal of SIGNALS) process.on(signal, listener)
  return () => {
    for (const signal of SIGNALS) process.off(signal, listener)
  }
}

export type InterruptFlag = { raised: boolean; close(): void }

/** For work in steps, which looks at the flag between two of them. */
export function interruptFlag(): InterruptFlag {
  const flag = { raised: false, close: () => {} }
  flag.close = onInterrupt(
    () => {
      flag.raised = true
    },
    () => process.exit(130),
  )
  return flag
}
