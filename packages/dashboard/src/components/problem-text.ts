import { isStorekeeperError } from '@storekeeper/client'
import { texts } from '../texts.ts'

/** What happened, in a sentence or two. Without an answer there is no code and no id to tell the operator. */
export function textOf(error: unknown): { detail: string; code?: string; requestId?: string | undefined } {
  if (!isStorekeeperError(error)) return { detail: String((error as Error).message) }
  const { status, code, message, errors, requestId } = error
  if (status === undefined) return { detail: texts.app.offline }
  return { detail: errors.map((fault) => fault.detail).join(' ') || message, code, requestId }
}
