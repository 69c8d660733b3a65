// The token of a mailed link stands behind the `#`, which no browser sends to a server. It leaves the address bar, and with
// it the history of the browser, before anything else happens, and is kept in memory for the page that the link leads to.
// Only while that page is being loaded again, or the browser is at the identity provider, does it wait in the tab. A page
// cannot tell whether it is being loaded again or left; but whoever comes back to it later was not sent the link.

type Taken = { path: string; token: string }
type Waiting = Taken & { isLeft: boolean }
let taken: Taken | null = null

const WAITING = 'storekeeper.link'

export function takeLinkToken(): void {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  const waiting = sessionStorage.getItem(WAITING)
  sessionStorage.removeItem(WAITING)
  if (token !== null) {
    taken = { path: location.pathname, token }
    history.replaceState(null, '', location.pathname + location.search)
  } else if (waiting !== null) {
    const { isLeft, ...kept } = JSON.parse(waiting) as Waiting
    if (!isLeft || isReload()) taken = kept
  }
  addEventListener('pagehide', () => {
    // On the way to the provider it waits already.
    if (hasLinkToken() && sessionStorage.getItem(WAITING) === null) keep({ isLeft: true })
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
}

/** For the way to the identity provider and back. */
export function keepLinkToken(): void {
  keep({ isLeft: false })
}

function keep(how: Pick<Waiting, 'isLeft'>): void {
  if (taken) sessionStorage.setItem(WAITING, JSON.stringify({ ...taken, ...how }))
}

function isReload(): boolean {
  const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
  return navigation?.type === 'reload'
}
