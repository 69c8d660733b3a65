// Tells a whole file of JSON from one that was cut off.

const [QUOTE, BACKSLASH] = [0x22, 0x5c]
const [OPENING, CLOSING] = [
  [0x5b, 0x7b],
  [0x5d, 0x7d],
]

/** Whether an object of JSON has come to its end, in UTF-8 and without keeping it. */
export function jsonStructure() {
  let [depth, isText, isEscaped, begun] = [0, false, false, false]
  return {
    add(bytes: Uint8Array): void {
      for (const byte of bytes) {
        if (isEscaped) isEscaped = false
        else if (isText) {
          if (byte === BACKSLASH) isEscaped = true
          else if (byte === QUOTE) isText = false
        } else if (byte === QUOTE) isText = true
        else if (OPENING.includes(byte)) {
          depth += 1
          begun = true
        } else if (CLOSING.includes(byte)) depth -= 1
      }
    },
    isWhole: (): boolean => begun && depth === 0 && !isText,
  }
}
