// What back ends that verify in their own process exchange with the service: changes, leases and reports of use.

import type { Static } from 'typebox'
import { Id, Nullable, OneOf } from '../../schema/fields.ts'
import { Type } from '../../schema/type.ts'
import { Verdict } from '../schema.ts'

const closed = { additionalProperties: false }

export const CHANGES_PATH = '/v1/keys/changes'
export const LEASE_PATH = '/v1/keys/lease'

// ---- changes --------------------------------------------------------------------------------------------------------

export const ChangesQuery = Type.Object(
  {
    back: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 999_999_999,
        default: 0,
        description:
          'How many milliseconds back the stream begins: changes since then are told first. Nodes remember the last 60 seconds, so compare `from` in `hello`.',
      }),
    ),
    v: Type.Optional(
      OneOf(['1'], { description: 'The version of the frames. A stream never has frames that its version lacks.' }),
    ),
  },
  closed,
)

/** One change at a time, as a node hears of them. */
export type KeyChanges = {
  /** Random, and new each time the node starts. */
  node: string
  /** Names what verdicts depend on beside the key and its store: the permissions that exist, and the token's stores. */
  catalogueOf(storeIds: readonly string[] | null): string
  /** False when the node misses changes, or has missed some since it knows the caller's token. */
  canJoin(request: ChangesRequest): boolean
  /** Null when the stream cannot begin now. */
  join(request: ChangesRequest, wake: () => void): ChangeSubscriber | null
  leave(subscriber: ChangeSubscriber): void
  /** The frames that are due, or null when the stream has to end without another one. */
  take(subscriber: ChangeSubscriber): string | null
  /** The last frame. */
  bye(subscriber: ChangeSubscriber): string
}

export type ChangesRequest = {
  serviceId: string
  /** Null: every store. */
  storeIds: readonly string[] | null
  /** When the request was received, on `performance.now()`'s clock. */
  receivedAt: number
  backMs: number
}

export type ChangeSubscriber = {
  serviceId: string
  storeIds: ReadonlySet<string> | null
  catalogue: string
  /** When its last frame is due. */
  endsAt: number
  /** Frames that wait to be written, and how many characters they hold. */
  queue: { event: string; data: string }[]
  queued: number
  /** The number of the last frame. */
  frames: number
  /** Which of the slots its beats are sent in, and whether one is due. */
  slot: number
  isBeatDue: boolean
  /** Notifications were lost, and it is not yet known whether its token was changed by one of them. */
  isHeld: boolean
  isEnded: boolean
  wake(): void
}

// ---- leases ---------------------------------------------------------------------------------------------------------

export const LeasedVerdict = Type.Object(
  {
    ...Verdict.properties,
    lease: Nullable(
      Type.Object(
        {
          ageMs: Type.Integer({
            description:
              'How old the knowledge behind the verdict was when your question arrived. The verdict holds for the moment you sent the question, minus this.',
          }),
          validForMs: Nullable(
            Type.Integer({
              description:
                'How long the key, or the grace period of this secret, lasts, counted from when you sent the question. `null`: without end.',
            }),
          ),
          secret: Type.Integer({
            description: "The number of the key's secret that was presented, for reports of use.",
          }),
          byAddress: Type.Boolean({ description: 'Whether the verdict holds for the `ip` you sent only.' }),
          node: Type.String({ description: 'The node that responded, as in `hello`.' }),
          catalogue: Type.String({
            description:
              'Names the permissions that exist and the stores of your service token, as in `hello`. Keep the verdict only if both are equal.',
          }),
        },
        { ...closed, description: 'On what terms you may keep the verdict. `null`: do not keep it.' },
      ),
    ),
  },
  { title: 'LeasedVerdict', description: 'A verdict, and whether it may be kept.', ...closed },
)

// ---- reports of use -------------------------------------------------------------------------------------------------

const MAX_COUNTS = 500
const DAY_MS = 86_400_000

const agoMs = (description: string) => Type.Integer({ minimum: 0, maximum: DAY_MS, description })

export const UsageReport = Type.Object(
  {
    reporter: Type.String({
      pattern: '^[A-Za-z0-9_-]{16,64}$',
      description: 'Your process: random characters, chosen when it starts.',
      examples: ['x3vGm1Yp0Qw8Zr5TnB7kLd'],
    }),
    seq: Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'The number of this report: 1, then one more for each. Send a report again under the same number.',
    }),
    counts: Type.Array(
      Type.Object(
        {
          keyId: Id('key', 'The id of the key.'),
          secret: Type.Integer({
            minimum: 1,
            maximum: 2_147_483_647,
            description: 'Which of its secrets was used: `secret` of the lease.',
          }),
          valid: Type.Integer({ minimum: 1, maximum: 1_000_000_000, description: 'How often it was accepted.' }),
          agoMs: agoMs('How many milliseconds ago the last time was.'),
          permissions: Type.Optional(
            Type.Unsafe<Record<string, number>>({
              type: 'object',
              additionalProperties: agoMs('How many milliseconds ago it was last asked for.'),
              maxProperties: 100,
              description: 'The permissions that were asked for, each with how many milliseconds ago that was last.',
            }),
          ),
        },
        closed,
      ),
      { maxItems: MAX_COUNTS, description: 'What was counted since the report before, by key and secret.' },
    ),
  },
  { title: 'UsageReport', description: 'The uses of keys that a back end verified itself.', ...closed },
)
export type UsageReport = Static<typeof UsageReport>

export const ReportAccepted = Type.Object({}, { title: 'ReportAccepted', description: 'It is written.', ...closed })

/** A report, with the service it came from, the stores of its token, and when it came. */
export type ReceivedReport = UsageReport & { serviceId: string; storeIds: readonly string[] | null; at: Date }

export type UsageReports = {
  /** Resolves when the report is written. */
  add(report: ReceivedReport): Promise<void>
  /** How many uses were reported to this node. */
  uses(): number
}
