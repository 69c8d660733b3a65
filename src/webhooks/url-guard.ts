// Against server-side request forgery. A webhook's URL is typed by a user, and the service runs inside its operator's
// network. So an address is checked three times: as it stands in the URL, in every answer of DNS, and on the connection
// itself. Only addresses of the public internet pass; those in IANA's registries of special-purpose addresses do not.

import ipaddr from 'ipaddr.js'
import type { Resolve } from '../core/dns.ts'
import type { Fault } from '../core/errors.ts'

/** All public IPv6 addresses that were ever assigned lie here. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3')

/** A public address that reaches the cloud provider's own services from within its machines (Azure). */
const PROVIDER_ADDRESSES = new Set(['168.63.129.16'])

/** Mapped, translated and tunnelled addresses are refused whatever address they contain. */
export function isPublic(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.parse(address)
  if (parsed.range() !== 'unicast' || PROVIDER_ADDRESSES.has(parsed.toString())) return false
  return parsed.kind() === 'ipv4' || (parsed as ipaddr.IPv6).match(GLOBAL_IPV6)
}

/** Ports of other protocols whose servers might make sense of an HTTP request: mail, shells, databases. */
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

const ASCII = /[\x00-\x7f]+/g
/** No host has more. To write it in ASCII takes a time that grows with the square of their number: 2,000 take 20 ms. */
const MAX_NOT_ASCII = 253

/**
 * The URL in its normal form, in which 2130706433, 0x7f.1 and ①②⑦.⓪.⓪.① are all 127.0.0.1; its faults are added to
 * `faults`. With `allowPrivate`, for development, http and private addresses are allowed.
 */
export function parseWebhookUrl(text: string, allowPrivate: boolean, faults: Fault[]): string {
  const example = 'https://shop.example/hooks'
  const refuse = (code: string, detail: string) => void faults.push({ pointer: '#/url', code, detail, example })
  if (text.replaceAll(ASCII, '').length > MAX_NOT_ASCII || !URL.canParse(text)) {
    refuse('invalid_url', 'This is not a URL.')
    return text
  }
  const url = new URL(text)
  url.hash = ''
  if (url.protocol !== 'https:' && !(allowPrivate && url.protocol === 'http:'))
    refuse('https_required', 'This must begin with https://.')
  // A URL of any other scheme has no host to check.
  if (!/^https?:$/.test(url.protocol)) return text
  if (url.username !== '' || url.password !== '')
    refuse('credentials_in_url', 'This must not contain a user name or password.')
  if (url.port !== '' && FORBIDDEN_PORTS.has(Number(url.port)))
    refuse('forbidden_port', 'Webhooks cannot use this port.')
  if (!isLiteral(url.hostname) && !isDnsName(url.hostname)) refuse('invalid_url', 'This is not a valid host name.')
  else if (
    !allowPrivate &&
    (isLiteral(url.hostname) ? !isPublic(withoutBrackets(url.hostname)) : LOCALHOST.test(url.hostname))
  )
    refuse('forbidden_address', FORBIDDEN)
  return url.href
}

const FORBIDDEN =
  'This address is not on the public internet. (For development, the operator can set WEBHOOK_ALLOW_PRIVATE=on.)'

/** Refuses a name that resolves to a private address today; one that does not resolve in time is checked when sending. */
export async function checkHost(resolve: Resolve, href: string, allowPrivate: boolean, faults: Fault[]): Promise<void> {
  const { hostname } = new URL(href)
  if (allowPrivate || isLiteral(hostname)) return
  const addresses = await Promise.race([resolve(hostname).catch(() => []), noAddressInTime()])
  if (!addresses.every(isPublic)) faults.push({ pointer: '#/url', code: 'forbidden_address', detail: FORBIDDEN })
}

const RESOLVE_TIMEOUT_MS = 2_000

function noAddressInTime(): Promise<string[]> {
  return new Promise((done) => setTimeout(done, RESOLVE_TIMEOUT_MS, []).unref())
}

export function isLiteral(hostname: string): boolean {
  return ipaddr.isValid(withoutBrackets(hostname))
}

/** A DNS name: labels of up to 63 characters, 253 in all, and a dot at the end or not. */
function isDnsName(hostname: string): boolean {
  const name = hostname.replace(/\.$/, '')
  return name.length <= 253 && name.split('.').every((label) => /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/.test(label))
}

/** Names of this machine (RFC 6761, 6.3). */
const LOCALHOST = /(^|\.)localhost\.?$/

/** The host name without the brackets of an IPv6 address. */
export function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1')
}
