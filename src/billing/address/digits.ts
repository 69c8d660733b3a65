// Digits of other scripts, as people type them into postal codes and phone numbers.

/** Where the digits of Arabic, Persian, the scripts of India, Thai, Lao, Tibetan, Burmese, Khmer and Mongolian begin. */
const ZEROS = [
  0x660, 0x6f0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50, 0xed0, 0xf20, 0x1040,
  0x17e0, 0x1810,
]

export function asciiDigits(text: string): string {
  return text.replace(/(?![0-9])\p{Nd}/gu, (digit) => {
    const point = digit.codePointAt(0) ?? 0
    const zero = ZEROS.find((start) => point >= start && point < start + 10)
    return zero === undefined ? digit : String(point - zero)
  })
}
