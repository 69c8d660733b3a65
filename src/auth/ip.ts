// Addresses and the ranges that allow them. An IPv4 address in IPv6 clothes (::ffff:192.0.2.1) is that IPv4 address.

import ipaddr from 'ipaddr.js'

/** Four numbers without leading zeros: some take "010" for eight. */
const IPV4 = /^(0|[1-9]\d{0,2})(\.(0|[1-9]\d{0,2})){3}\//

/** Of "::192.0.2.1", which ipaddr.js takes for "::ffff:192.0.2.1", the form that it reads as what it is. */
export function inHex(text: string): string {
  return text.replace(/^::(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?![\d.])/, (_, ...bytes: string[]) => {
    const [a, b, c, d] = bytes.map(Number) as [number, number, number, number]
    return `::${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
  })
}

/** The range in its normal form ("192.0.2.7/24" is 192.0.2.0/24, a lone address is a range of one), or null. */
export function parseRange(given: string): string | null {
  const text = inHex(given)
  const mapped = /^::ffff:(\d[\d.]+)(?:\/(9[6-9]|1[01]\d|12[0-8]))?$/i.exec(text)
  if (mapped) return parseRange(`${mapped[1]}/${Number(mapped[2] ?? 128) - 96}`)
  const whole = text.includes('/') ? text : `${text}/${ipaddr.IPv4.isValid(text) ? 32 : 128}`
  if (!/^[0-9a-fA-F:.]{2,45}\/(0|[1-9]\d{0,2})$/.test(whole) || !ipaddr.isValidCIDR(whole)) return null
  if (!whole.includes(':') && !IPV4.test(whole)) return null
  const [address, bits] = ipaddr.parseCIDR(whole)
  if (address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && bits >= 96)
    return parseRange(`${address.toIPv4Address().toString()}/${bits - 96}`)
  const Family = address.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6
  return `${Family.networkAddressFromCIDR(whole).toString()}/${bits}`
}

/** A range in its normal form. (Of one whose family is not said, the library reads IPv4 only when it has failed as IPv6.) */
function readRange(range: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  return range.includes(':') ? ipaddr.IPv6.parseCIDR(range) : ipaddr.IPv4.parseCIDR(range)
}

/** Whether each of these ranges lies in one of the wider ones. */
export function rangesWithin(wider: readonly string[], ranges: readonly string[]): boolean {
  const around = wider.map(readRange)
  return ranges
    .map(readRange)
    .every(([network, bits]) =>
      around.some(([outer, fewer]) => outer.kind() === network.kind() && bits >= fewer && network.match(outer, fewer)),
    )
}

export function isIp(text: string): boolean {
  const last = text.slice(text.lastIndexOf(':') + 1)
  const isWhole = text.includes(':') && !last.includes('.')
  return ipaddr.isValid(text) && (isWhole || IPV4.test(`${last}/`))
}

export function isIpAllowed(ranges: readonly string[], ip: string): boolean {
  if (!ipaddr.isValid(ip)) return false
  const address = ipaddr.process(inHex(ip))
  return ranges.some((range) => {
    const [network, bits] = readRange(range)
    return network.kind() === address.kind() && address.match(network, bits)
  })
}

/** Some proxies write the client's port too: "192.0.2.1:4711", "[2001:db8::1]:4711". */
export function withoutPort(address: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]+)\](?::\d+)?|(\d+(?:\.\d+){3}):\d+)$/.exec(address) ?? []
  return bracketed ?? plain ?? address
}

/** Of an IPv6 address with an IPv4 one at its end. */
const MAX_IP_LENGTH = 45

/** What limits by address count by. `site` is looser: one customer of a network often holds a whole /48 of IPv6. */
export type Network = { place: string; site: string | null }

/** An IPv4 address is its own network; of an IPv6 address anyone holds a /64 at least. */
export function networkOf(ip: string): Network {
  const text = inHex(ip.split('%', 1)[0] as string)
  // Whatever a proxy has passed on: kept as the name of a limit, of which there are many.
  if (!ipaddr.isValid(text)) return { place: ip.slice(0, MAX_IP_LENGTH), site: null }
  const address = ipaddr.process(text)
  if (address.kind() === 'ipv4') return { place: address.toString(), site: null }
  const network = (bits: number) => `${ipaddr.IPv6.networkAddressFromCIDR(`${address.toString()}/${bits}`)}/${bits}`
  return { place: network(64), site: network(48) }
}

/** Whose turn it is among strangers: whoever holds a /48 of IPv6 has thousands of networks, and one turn. */
export function siteOf(ip: string): string {
  const { place, site } = networkOf(ip)
  return site ?? place
}
