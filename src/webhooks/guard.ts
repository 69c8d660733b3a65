// No way in. A webhook's URL is whatever somebody typed, and the service sits inside somebody's network. So an address is
// looked at three times: as it stands in the URL, in every answer of DNS, and on the connection itself. Only what belongs
// to the public internet passes; anything with a name of its own in the registries of special addresses does not.

import ipaddr from 'ipaddr.js'
import type { Resolve } from '../core/dns.ts'
import type { Fault } from '../core/errors.ts'

/** Of IPv6, all that was ever given out to the public lies here. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3')

/** Public by its number, but within a provider's machines it is the provider itself. */
const INNER = new Set(['168.63.129.16'])

/** Mapped, translated and tunnelled addresses are refused whatever they hold: they exist to reach something else. */
export function isPublic(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.parse(address)
  if (parsed.range() !== 'unicast' || INNER.has(parsed.toString())) return false
  return parsed.kind() === 'ipv4' || (parsed as ipaddr.IPv6).match(GLOBAL_IPV6)
}

/** Ports where something other than HTTP listens and might make sense of what we send: mail, shells, databases. */
const FORBIDDEN_PORTS = new Set(
  [
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 79, 87, 95, 101, 102, 103, 104, 109, 110,
    111,
  ]
    .concat([113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 445, 465, 512, 513, 514, 515, 526, 530])
    .concat([531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 873, 989, 990, 993, 995, 1433, 1521, 1719, 1720, 1723])
    .concat([
      2049, 2375, 2376, 2379, 2380, 3306, 3389, 3659, 4045, 5060, 5061, 5432, 5672, 6000, 6379, 6566, 6665, 6666,
    ])
    .concat([6667, 6668, 6669, 6697, 9042, 9200, 9300, 10080, 11211, 27017]),
)

/**
 * The URL in its normal form, in which 2130706433, 0x7f.1 and ①②⑦.⓪.⓪.① are all 127.0.0.1; what is wrong with it goes to
 * `faults`. With `allowPrivate`, for development, http and inner addresses are let through.
 */
export function readWebhookUrl(text: string, allowPrivate: boolean, faults: Fault[]): string {
  const example = 'https://shop.example/hooks'
  const found = (pointer: string, code: string, detail: string) => void faults.push({ pointer, code, detail, example })
  if (!URL.canParse(text)) {
    found('#/url', 'invalid_url', 'This is not a URL.')
    return text
  }
  const url = new URL(text)
  url.hash = ''
  if (url.protocol !== 'https:' && !(allowPrivate && url.protocol === 'http:'))
    found('#/url', 'https_required', 'This must begin with https://.')
  // What a URL of any other kind leads to is no host of the web.
  if (!/^https?:$/.test(url.protocol)) return text
  if (url.username !== '' || url.password !== '')
    found('#/url', 'credentials_in_url', 'This must hold no user and no password.')
  if (url.port !== '' && FORBIDDEN_PORTS.has(Number(url.port)))
    found('#/url', 'forbidden_port', 'Nothing is ever sent to this port.')
  if (!isLiteral(url.hostname) && !isName(url.hostname))
    found('#/url', 'invalid_url', 'There can be no host of this name.')
  else if (!allowPrivate && (isLiteral(url.hostname) ? !isPublic(bare(url.hostname)) : LOCAL.test(url.hostname)))
    found('#/url', 'forbidden_address', FORBIDDEN)
  return url.href
}

const FORBIDDEN = 'This does not lie on the public internet, and nothing is sent anywhere else.'

/** A name that stands for an inner address today is refused; one that cannot be asked for now is looked at when sending. */
export async function checkHost(resolve: Resolve, href: string, allowPrivate: boolean, faults: Fault[]): Promise<void> {
  const { hostname } = new URL(href)
  if (allowPrivate || isLiteral(hostname)) return
  const addresses = await Promise.race([resolve(hostname).catch(() => []), patience()])
  if (!addresses.every(isPublic)) faults.push({ pointer: '#/url', code: 'forbidden_address', detail: FORBIDDEN })
}

const PATIENCE_MS = 2_000

function patience(): Promise<string[]> {
  return new Promise((done) => setTimeout(done, PATIENCE_MS, []).unref())
}

export function isLiteral(hostname: string): boolean {
  return ipaddr.isValid(bare(hostname))
}

/** As DNS has it: labels of up to 63 characters, 253 in all, and a dot at the end or not. */
function isName(hostname: string): boolean {
  const name = hostname.replace(/\.$/, '')
  return name.length <= 253 && name.split('.').every((label) => /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/.test(label))
}

/** This machine, by whichever name (RFC 6761, 6.3). */
const LOCAL = /(^|\.)localhost\.?$/

/** Without the brackets of an IPv6 address. */
export function bare(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1')
}
