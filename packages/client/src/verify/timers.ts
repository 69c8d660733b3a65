// Nothing here keeps a process alive.

export function unref(timer: ReturnType<typeof setTimeout>): void {
  timer.unref?.()
}

/** Ends when the time is over, or at once when the signal is aborted. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    unref(timer)
    signal.addEventListener('abort', end)
  })
}
