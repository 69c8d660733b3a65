// What was typed and not saved. Before it is lost, the page asks: by a question of its own for links within the dashboard,
// by the browser's for everything else.

import { useEffect } from 'react'

const unsaved = new Set<object>()
let isAsked = true
let ask: ((path: string) => void) | null = null

/** For as long as a form holds something that is not saved. What `keepsDraft` is lost with the page, not by a link. */
export function useUnsaved(isDirty: boolean, { keepsDraft = false }: { keepsDraft?: boolean } = {}): void {
  useTyped(isDirty)
  useEffect(() => {
    if (!isDirty) return
    const mark = {}
    const askByBrowser = (event: BeforeUnloadEvent) => isAsked && event.preventDefault()
    if (!keepsDraft) unsaved.add(mark)
    addEventListener('beforeunload', askByBrowser)
    return () => {
      unsaved.delete(mark)
      removeEventListener('beforeunload', askByBrowser)
    }
  }, [isDirty, keepsDraft])
}

// ---- when somebody signs out in another tab -------------------------------------------------------------------------

const typed = new Set<object>()
const secrets = new Set<object>()

function useMark(marks: Set<object>, isOn: boolean): void {
  useEffect(() => {
    if (!isOn) return
    const mark = {}
    marks.add(mark)
    return () => void marks.delete(mark)
  }, [marks, isOn])
}

/** For as long as something typed is to wait for whoever typed it, drafts among it. */
export const useTyped = (isDirty: boolean): void => useMark(typed, isDirty)
export const hasTyped = (): boolean => typed.size > 0

/** For as long as a secret is shown, or about to be. */
export const useShownSecret = (): void => useMark(secrets, true)
export const isSecretShown = (): boolean => secrets.size > 0

// ---- before it is lost --------------------------------------------------------------------------------------------------

export const hasUnsaved = (): boolean => unsaved.size > 0

/** Whether somebody was asked; then they go on to the path if they want to. */
export function askedBefore(path: string): boolean {
  if (!hasUnsaved() || !ask) return false
  ask(path)
  return true
}

/** How to ask, while a page can; null again when it cannot. */
export function onAsk(how: typeof ask): void {
  ask = how
}

/** What was typed is somebody else's, and must go: nobody is asked any more. */
export function leaveUnasked(): void {
  isAsked = false
}
