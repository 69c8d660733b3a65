// The token of a mailed link stands behind the `#`, which no browser sends to a server. It leaves the address bar, and with
// it the history of the browser, before anything else happens, and is kept in memory for the page that the link leads to,
// until that page is left. Only while the page is being loaded again, or the browser is at the identity provider, does it
// wait in the tab. A page cannot tell whether it is being loaded again or left; but whoever comes back to it later was not
// sent the link.

type Taken = { path: string; token: string }
/** `backBy`: until then any load of the page takes the token, afterwards only a reload. */
type Waiting = Taken & { backBy: number }
let taken: Taken | null = null

const WAITING = 'storekeeper.link'
/** The service gives an attempt at the identity provider as long. */
const ATTEMPT_MS = 10 * 60 * 1000

export function takeLinkToken(): void {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  const waiting = sessionStorage.getItem(WAITING)
  sessionStorage.removeItem(WAITING)
  if (token !== null) {
    taken = { path: location.pathname, token }
    history.replaceState(null, '', location.pathname + location.search)
  } else if (waiting !== null) {
    const { backBy, ...kept } = JSON.parse(waiting) as Waiting
    if (Date.now() < backBy || isReload()) taken = kept
  }
  addEventListener('pagehide', () => {
    // On the way to the provider it waits already.
    if (hasLinkToken() && sessionStorage.getItem(WAITING) === null) keep({ backBy: 0 })
  })
  // Another link, opened in a tab that has this page already.
  addEventListener('hashchange', () => {
    if (new URLSearchParams(location.hash.slice(1)).has('token')) location.reload()
  })
}

/** Null on a page that was opened without one. */
export function linkToken(path: string): string | null {
  return taken?.path === path ? taken.token : null
}

/** Whether this page was opened with one. */
export const hasLinkToken = (): boolean => taken?.path === location.pathname

/** Whoever comes next to this page was not sent the link. */
export function dropLinkToken(): void {
  taken = null
  sessionStorage.removeItem(WAITING)
}

/** For the way to the identity provider and back. */
export function keepLinkToken(): void {
  keep({ backBy: Date.now() + ATTEMPT_MS })
}

function keep(how: Pick<Waiting, 'backBy'>): void {
  if (taken) sessionStorage.setItem(WAITING, JSON.stringify({ ...taken, ...how }))
}

function isReload(): boolean {
  const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
  return navigation?.type === 'reload'
}
