import { resolve } from 'node:path'

/** npm runs a script in the folder of its package, and tells in INIT_CWD where its caller is. */
export function pathOf(given: string): string {
  const { npm_lifecycle_event, npm_package_name, INIT_CWD } = process.env
  const byNpm = npm_lifecycle_event === 'storekeeper' && npm_package_name === 'storekeeper'
  return resolve(byNpm && INIT_CWD ? INIT_CWD : '.', given)
}
