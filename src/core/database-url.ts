// Several hosts in one DATABASE_URL, as libpq reads them: `postgres://user@a:5432,b:5433/shop`, or
// `postgres://user@/shop?host=a,b&port=5432,5433`. One port in the query is the port of every host.

const AUTHORITY = /^(postgres(?:ql)?:\/\/)([^/?#]*@)?([^/?#]*)(.*)$/s

/** One URL for each host that the URL names: the URL itself, if it is only one. Throws if one of them is no URL. */
export function urlsOfHosts(text: string): string[] {
  const [, scheme = '', user = '', hosts = '', rest = ''] = AUTHORITY.exec(text) ?? []
  if (scheme === '') throw new Error('must begin with postgres://')
  const urls = hosts.split(',').flatMap((host) => urlsOfQuery(`${scheme}${user}${host}${rest}`, hosts !== ''))
  if (hosts.includes(',') && hosts.split(',').includes('')) throw new Error('names an empty host')
  return urls.length === 1 ? [text] : urls
}

function urlsOfQuery(text: string, namesHost: boolean): string[] {
  // The driver takes a URL without a host, which the standard does not know.
  const standIn = namesHost ? text : text.replace(/^([^/]*\/\/[^/?#]*@?)/, '$1localhost')
  if (!URL.canParse(standIn)) throw new Error('must be a URL')
  const { searchParams } = new URL(standIn)
  const hosts = searchParams.get('host')?.split(',') ?? []
  if (hosts.length < 2) return [text]
  const ports = searchParams.get('port')?.split(',') ?? []
  if (hosts.includes('')) throw new Error('names an empty host')
  if (ports.length > 1 && ports.length !== hosts.length) throw new Error('must name one port, or one for each host')
  return hosts.map((host, n) => {
    const url = new URL(standIn)
    url.searchParams.set('host', host)
    const port = ports[n] ?? ports[0]
    if (port !== undefined) url.searchParams.set('port', port)
    return url.toString()
  })
}
