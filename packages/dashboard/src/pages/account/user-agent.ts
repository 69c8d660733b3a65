// What a browser says of itself, in words. Each browser also names those that it is made from, so the order decides.

const BROWSERS: [RegExp, string][] = [
  [/Edg(A|iOS)?\//, 'Edge'],
  [/OPR\/|Opera/, 'Opera'],
  [/SamsungBrowser\//, 'Samsung Internet'],
  [/Firefox\/|FxiOS\//, 'Firefox'],
  [/HeadlessChrome\/|Chrome\/|Chromium\/|CriOS\//, 'Chrome'],
  [/Version\/[\d.]+.* Safari\//, 'Safari'],
  [/^storekeeper-cli\//, 'Storekeeper command line'],
  [/^storekeeper-js\//, 'Storekeeper client'],
  [/^curl\//, 'curl'],
  [/^node/, 'Node.js'],
]

const SYSTEMS: [RegExp, string][] = [
  [/iPhone/, 'iPhone'],
  [/iPad/, 'iPad'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/CrOS/, 'ChromeOS'],
  [/Mac OS X|Macintosh/, 'macOS'],
  [/Linux/, 'Linux'],
]

const first = (rows: [RegExp, string][], text: string) => rows.find(([pattern]) => pattern.test(text))?.[1] ?? null

/** Null where nothing of it is known. */
export function inWords(userAgent: string): { browser: string | null; system: string | null } {
  return { browser: first(BROWSERS, userAgent), system: first(SYSTEMS, userAgent) }
}
