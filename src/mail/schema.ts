// What a user may switch off, as it looks from outside.

import { Type } from '../schema/type.ts'

/** Mails about a changed password, e-mail or second factor are not here: they always come. */
const SWITCHES = {
  newSignIns: 'Tell me about sign-ins from an IP address the account has not been used from in the last 90 days.',
  leakedKeys: 'Tell me when a key that I created, or a key of a store that I own, has leaked.',
  expiringKeys:
    'Tell me when a key that I created expires in 30, 7 or 1 days. If its creator is gone, the owners of the store are told.',
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
  {
    title: 'MailSwitches',
    description:
      'Which e-mails the user gets. Mails about a changed password, e-mail address or second factor are always sent.',
    additionalProperties: false,
  },
)
