import { texts } from '../texts.ts'
import { Notice } from './light.tsx'
import { textOf } from './problem-text.ts'

/** An error on the ways in: what happened, what it means, and the id to tell the operator. */
export function LightProblem({ error }: { error: unknown }) {
  const { detail, code, requestId } = textOf(error)
  return (
    <Notice tone="bad">
      {detail}
      {code && <a href={`/errors/${code}`}>{texts.app.errorHelp}</a>}
      {requestId && (
        <span>
          {texts.app.requestId}: <code>{requestId}</code>
        </span>
      )}
    </Notice>
  )
}
