import { texts } from '../texts.ts'

/** While the script of a page is being loaded. */
export const Waiting = () => <div className="waiting" role="status" aria-label={texts.app.loading} />
