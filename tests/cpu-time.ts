/** Microseconds of processor time: the least of several tries, since other work of the process may fall into one. */
export function leastCpuTime(tries: number, work: () => void): number {
  const times = Array.from({ length: tries }, () => {
    const before = process.cpuUsage()
    work()
    const { user, system } = process.cpuUsage(before)
    return user + system
  })
  return Math.min(...times)
}
