// Every address that a name stands for at this moment. The one question we ask of the world's DNS, so that a test can
// play its answers.

import { lookup } from 'node:dns/promises'

export type Resolve = (host: string) => Promise<string[]>

export const resolveHost: Resolve = async (host) =>
  (await lookup(host, { all: true, verbatim: true })).map(({ address }) => address)
