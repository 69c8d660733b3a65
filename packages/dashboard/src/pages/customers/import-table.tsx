// The lines of an import, and what became of each.

import { Anchor, Badge, List, Stack, Switch, Table, Text } from '@mantine/core'
import type { CustomerLine, ImportResult } from '@storekeeper/client'
import { useState } from 'react'
import { Link } from 'wouter'
import { paths } from '../../app/paths.ts'
import { texts } from '../../texts.ts'

const MAX_SHOWN = 200
const COLORS = { created: 'green', updated: 'gray', failed: 'red' } as const

type Props = { storeId: string; lines: CustomerLine[]; results: ImportResult[] }

export function ImportTable({ storeId, lines, results }: Props) {
  const [onlyFailed, setOnlyFailed] = useState(false)
  const rows = lines
    .map((line, n) => ({ line, n, result: results[n] }))
    .filter(({ result }) => !onlyFailed || result?.status === 'failed')
  return (
    <Stack gap="xs">
      {results.some(({ status }) => status === 'failed') && (
        <Switch
          label={texts.customers.importOnlyFailed}
          checked={onlyFailed}
          onChange={(event) => setOnlyFailed(event.currentTarget.checked)}
        />
      )}
      <Table className="stacks">
        <Table.Thead>
          <Table.Tr>
            {texts.customers.importColumns.map((column) => (
              <Table.Th key={column}>{column}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.slice(0, MAX_SHOWN).map(({ line, n, result }) => (
            <Table.Tr key={n}>
              <Table.Td className="breaks">
                {result && result.status !== 'failed' ? (
                  <Anchor component={Link} href={paths.customer(storeId, line.externalId)}>
                    {line.externalId}
                  </Anchor>
                ) : (
                  line.externalId
                )}
              </Table.Td>
              <Table.Td className="breaks">{line.name}</Table.Td>
              <Table.Td className="breaks">{line.email}</Table.Td>
              <Table.Td>{texts.customers.importAddresses(line.addresses?.length ?? 0)}</Table.Td>
              <Table.Td>{result && <Result result={result} n={n} />}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {rows.length > MAX_SHOWN && (
        <Text size="sm" c="dimmed">
          {texts.customers.importFirst(MAX_SHOWN)}
        </Text>
      )}
    </Stack>
  )
}

function Result({ result: { status, errors = [] }, n }: { result: ImportResult; n: number }) {
  const known = status as keyof typeof COLORS
  return (
    <>
      <Badge variant="light" color={COLORS[known] ?? 'gray'}>
        {texts.customers.importStatuses[known] ?? status}
      </Badge>
      {errors.length > 0 && (
        <List size="sm">
          {errors.map(({ pointer, code, detail }) => (
            <List.Item key={pointer + code} className="breaks">
              {/* The part of the pointer below the line. */}
              {pointer.replace(/^#\/customers\/\d+\/?/, '') || n + 1}: {detail}
            </List.Item>
          ))}
        </List>
      )}
    </>
  )
}
