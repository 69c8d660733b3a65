// What a user may switch off, as it looks from outside.

import { Type } from '../schema/type.ts'

/** Mails about a changed password, e-mail or second factor are not here: they always come. */
const SWITCHES = {
  newSignIns: 'A sign-in from a place that the account had not been used from before.',
  leakedKeys: 'A key that you made, or of a store that you own, has leaked.',
  expiringKeys: 'A key that you made ends in 30, 7 or 1 days; of a maker who is gone, the owners are told.',
} as const
export type MailSwitch = keyof typeof SWITCHES
export const MAIL_SWITCHES = Object.keys(SWITCHES) as MailSwitch[]

const { newSignIns, leakedKeys, expiringKeys } = SWITCHES

export const MailSwitches = Type.Object(
  {
    newSignIns: Type.Boolean({ description: newSignIns }),
    leakedKeys: Type.Boolean({ description: leakedKeys }),
    expiringKeys: Type.Boolean({ description: expiringKeys }),
  },
  { title: 'MailSwitches', additionalProperties: false },
)
