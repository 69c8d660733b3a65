// Who has called a command, for the event.

import { userInfo } from 'node:os'
import type { Actor } from '../events/write.ts'

/** The user of the operating system. */
export function operator(): Actor {
  return { kind: 'system', id: userInfo().username, ip: null }
}
