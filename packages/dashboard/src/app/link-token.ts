// The token of a mailed link stands behind the `#`, which no browser sends to a server. It leaves the address bar, and with
// it the history of the browser, before anything else happens, and is kept in memory for the page that the link leads to.

type Taken = { path: string; token: string }
let taken: Taken | null = null

/** While the browser is at the identity provider, the token waits in this tab. */
const WAITING = 'storekeeper.link'

export function takeLinkToken(): void {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  const waiting = sessionStorage.getItem(WAITING)
  sessionStorage.removeItem(WAITING)
  if (token !== null) {
    taken = { path: location.pathname, token }
    history.replaceState(null, '', location.pathname + location.search)
  } else if (waiting !== null) taken = JSON.parse(waiting) as Taken
  // Another link, opened in a tab that has this page already.
  addEventListener('hashchange', () => {
    if (new URLSearchParams(location.hash.slice(1)).has('token')) location.reload()
  })
}

/** Null on a page that was opened without one. */
export function linkToken(path: string): string | null {
  return taken?.path === path ? taken.token : null
}

export function keepLinkToken(): void {
  if (taken) sessionStorage.setItem(WAITING, JSON.stringify(taken))
}
