import { expect, test } from 'vitest'
import { faultOfVersion } from './minor-version.ts'

test('a server behind the latest minor version is named, and one that is newer than we know is not', () => {
  expect(faultOfVersion(180_004)).toBe('PostgreSQL is version 18.4; 18.6 (August 2026) fixes faults in it.')
  expect(faultOfVersion(150_019)).toBe('PostgreSQL is version 15.19; 15.20 (November 2026) fixes faults in it.')
  expect(faultOfVersion(140_024)).toBe('PostgreSQL 14 is no longer maintained.')
  for (const version of [150_020, 150_021, 160_015, 170_011, 180_006, 180_099, 190_000, 200_003])
    expect(faultOfVersion(version), String(version)).toBeNull()
})
