// The settings of the service that its users' commands look at. Others may be wrong or missing: they do not matter here.

type Env = Record<string, string | undefined>

export function readKeyPrefix(env: Env): string {
  const prefix = env.KEY_PREFIX?.trim() || 'skp'
  if (/^[a-z][a-z0-9]{1,15}$/.test(prefix)) return prefix
  throw wrong(`KEY_PREFIX must be 2 to 16 lower-case letters and digits, a letter first, not "${prefix}"`)
}

/** Where a service with these settings listens. */
export function readServiceUrl(env: Env): string {
  const [host, port] = [env.HOST?.trim() || '127.0.0.1', env.PORT?.trim() || '3000']
  if (/^\d{1,9}$/.test(port) && Number(port) <= 65535) return `http://${host}:${Number(port)}`
  throw wrong(`PORT must be a whole number from 0 to 65535, not "${port}"`)
}

function wrong(fault: string): Error {
  return new Error(`Invalid settings:\n  - ${fault}`)
}
