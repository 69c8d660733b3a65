// Before each file: with SEED=… the properties run with the seed that a failure printed.

import { SEED } from './random.ts'

if (SEED !== undefined) (await import('fast-check')).default.configureGlobal({ seed: SEED })
