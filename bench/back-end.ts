// A back end that verifies in its own process, for revocation-in-process.ts. It looks at every watched key every few
// milliseconds, and tells when memory last let it in, on the clock that all processes of a machine share.

import { storekeeper } from '../packages/client/src/index.ts'

const PAUSE_MS = 8
const client = storekeeper({ url: process.env.URL as string, token: process.env.TOKEN as string, inProcess: true })
const verifier = client.verifier()
const now = () => Number(process.hrtime.bigint()) / 1e6
let watched = new Map<string, { last: number; isWarm: boolean; isAsking: boolean }>()

setInterval(() => {
  for (const [key, state] of watched) {
    const began = now()
    if (verifier.now({ key })) Object.assign(state, { last: began, isWarm: true })
    else if (!state.isAsking) {
      state.isAsking = true
      verifier
        .verify({ key }, { timeout: 1_000 })
        // A key that was refused is not asked for again.
        .then(({ valid }) => {
          state.isAsking = !valid
        })
        .catch(() => {
          state.isAsking = false
        })
    }
  }
}, PAUSE_MS)

process.on('message', (message: { watch?: string[]; ask?: 'warm' | 'last' | 'counters' }) => {
  if (message.watch) watched = new Map(message.watch.map((key) => [key, { last: 0, isWarm: false, isAsking: false }]))
  if (message.ask === 'warm')
    process.send?.({ warm: verifier.state === 'covered' && [...watched.values()].every(({ isWarm }) => isWarm) })
  if (message.ask === 'last') process.send?.({ last: [...watched].map(([key, { last }]) => [key, last]) })
  if (message.ask === 'counters') process.send?.({ counters: verifier.counters })
})
process.on('disconnect', () => process.exit(0))
