// Addresses and the ranges that allow them. An IPv4 address in IPv6 form (::ffff:192.0.2.1) is that IPv4 address.

type ParsedAddress = { value: bigint; bits: 32 | 128 }

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?=\d)|$)){4}$/

export function parseAddress(text: string): ParsedAddress | null {
  if (IPV4.test(text)) return { value: text.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n), bits: 32 }
  if (!text.includes(':') || !URL.canParse(`http://[${text}]`)) return null
  const [head = '', tail] = new URL(`http://[${text}]`).hostname.slice(1, -1).split('::')
  const groupsOf = (part = '') => part.split(':').filter(Boolean)
  const [before, after] = [groupsOf(head), groupsOf(tail)]
  const groups = [...before, ...Array<string>(8 - before.length - after.length).fill('0'), ...after]
  const value = groups.reduce((sum, group) => sum * 65_536n + BigInt(`0x${group}`), 0n)
  return value >> 32n === 0xffffn ? { value: value & 0xffffffffn, bits: 32 } : { value, bits: 128 }
}

export function isAllowed(ranges: readonly string[], ip: string): boolean {
  const address = parseAddress(ip)
  return address !== null && ranges.some((range) => isWithin(range, address))
}

function isWithin(range: string, { value, bits }: ParsedAddress): boolean {
  const [text = '', length] = range.split('/')
  const network = parseAddress(text)
  if (network?.bits !== bits) return false
  const isMapped = network.bits === 32 && text.includes(':')
  const prefix = length === undefined ? bits : Number(length) - (isMapped ? 96 : 0)
  const rest = BigInt(bits - prefix)
  return value >> rest === network.value >> rest
}
