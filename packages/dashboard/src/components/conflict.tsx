// Somebody else has changed the same record: their change beside yours, field by field. Nothing is lost either way.

import { Alert, Button, Group, Stack, Table, Text } from '@mantine/core'
import { texts } from '../texts.ts'

type Values = Record<string, unknown>
type Props = {
  before: Values
  theirs: Values
  mine: Values
  /** The fields in words. */
  names: Record<string, string>
  onTakeTheirs: () => void
  onKeepMine: () => void
}

const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)
const shown = (value: unknown) =>
  value === '' || value === null || value === undefined
    ? texts.app.nothing
    : typeof value === 'string'
      ? value
      : Array.isArray(value)
        ? value.map((item) => (typeof item === 'string' ? item : JSON.stringify(item))).join(', ') || texts.app.nothing
        : JSON.stringify(value)

export function Conflict({ before, theirs, mine, names, onTakeTheirs, onKeepMine }: Props) {
  const fields = Object.keys(mine).filter(
    (field) => !same(before[field], theirs[field]) || !same(before[field], mine[field]),
  )
  return (
    <Alert color="yellow" title={texts.app.conflict}>
      <Stack gap="sm">
        <Text size="sm">{texts.app.conflictHelp}</Text>
        <Table.ScrollContainer minWidth={360}>
          <Table>
            <Table.Thead>
              <Table.Tr>
                {[texts.app.field, texts.app.theirs, texts.app.yours].map((title) => (
                  <Table.Th key={title}>{title}</Table.Th>
                ))}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {fields.map((field) => (
                <Table.Tr key={field}>
                  <Table.Th>{names[field] ?? field}</Table.Th>
                  <Table.Td fw={same(before[field], theirs[field]) ? 400 : 700}>{shown(theirs[field])}</Table.Td>
                  <Table.Td fw={same(before[field], mine[field]) ? 400 : 700}>{shown(mine[field])}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
        <Group>
          <Button size="xs" onClick={onKeepMine}>
            {texts.app.keepMine}
          </Button>
          <Button size="xs" variant="default" onClick={onTakeTheirs}>
            {texts.app.takeTheirs}
          </Button>
        </Group>
      </Stack>
    </Alert>
  )
}
