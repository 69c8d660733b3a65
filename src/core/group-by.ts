/** `Map.groupBy`, which Node 20 does not have. */
export function groupBy<Row, Name>(rows: Row[], nameOf: (row: Row) => Name): Map<Name, Row[]> {
  const groups = new Map<Name, Row[]>()
  for (const row of rows) {
    const group = groups.get(nameOf(row))
    if (group) group.push(row)
    else groups.set(nameOf(row), [row])
  }
  return groups
}
