// A worker without a service. It speaks with its primary as src/cluster/worker.ts does, and starts in a thirtieth of the
// time: what the primary does with its workers is tested on many of them.

const tell = (message) => {
  if (process.connected) process.send(message)
}

for (const signal of ['SIGINT', 'SIGHUP', 'SIGTERM']) process.on(signal, () => {})

process.on('message', ({ kind }) => {
  if (kind === 'start') start()
  else if (kind === 'stop') process.disconnect()
})
tell({ kind: 'listening' })

function start() {
  const fault = process.env.STAND_IN_FAULT
  if (fault) {
    tell({ kind: 'failed', message: fault })
    process.disconnect()
    return
  }
  process.on('SIGTERM', () => tell({ kind: 'told to stop' }))
  tell({ kind: 'ready', url: `stand-in:${process.pid}` })
}
