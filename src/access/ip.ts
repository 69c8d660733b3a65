// Addresses and the ranges that allow them. An IPv4 address in IPv6 clothes (::ffff:192.0.2.1) is that IPv4 address.

import ipaddr from 'ipaddr.js'

/** The range in its normal form ("192.0.2.7/24" is 192.0.2.0/24, a lone address is a range of one), or null. */
export function readRange(text: string): string | null {
  const whole = text.includes('/') ? text : `${text}/${ipaddr.IPv4.isValid(text) ? 32 : 128}`
  if (!/^[0-9a-fA-F:.]{2,45}\/\d{1,3}$/.test(whole) || !ipaddr.isValidCIDR(whole)) return null
  if (!whole.includes(':') && !/^\d{1,3}(\.\d{1,3}){3}\//.test(whole)) return null
  const [address, bits] = ipaddr.parseCIDR(whole)
  const Family = address.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6
  return `${Family.networkAddressFromCIDR(whole).toString()}/${bits}`
}

export function addressAllowed(ranges: readonly string[], ip: string): boolean {
  if (!ipaddr.isValid(ip)) return false
  const address = ipaddr.process(ip)
  return ranges.some((range) => {
    const [network, bits] = ipaddr.parseCIDR(range)
    return network.kind() === address.kind() && address.match(network, bits)
  })
}
