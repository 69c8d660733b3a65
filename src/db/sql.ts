// SQL stays SQL at the call site: sql`select … where id = ${id}` carries its values beside its text, never in it.

/** Only `sql` and `fragment` make one: a value from outside that has a `text` and `values` is still a value. */
export type Sql = { text: string; values: unknown[]; name?: string; fixed?: true; [BRAND]: true }
const BRAND = Symbol('sql')

/** A prepared statement, with the texts of its fragments: null where a plain value stands. */
type PreparedStatement = { text: string; name: string; fragments: (string | null)[] | null }
const statements = new WeakMap<TemplateStringsArray, PreparedStatement>()
let lastNumber = 0

/**
 * A value in the text is a parameter; a `Sql` in the text is text with its own parameters. A statement has a name, one for
 * each place in the code, under which each connection prepares it once, unless it holds another `sql`, whose text may
 * differ from call to call. A `fragment` does not differ.
 */
export function sql(strings: TemplateStringsArray, ...parts: unknown[]): Sql {
  const known = statements.get(strings)
  if (known && sameFragments(known, parts)) return statementOf(known, parts)
  const composed = compose(strings, parts)
  if (known || parts.some((part) => isSql(part) && !part.fixed)) return composed
  lastNumber += 1
  const fragments = parts.some(isSql) ? parts.map((part) => (isSql(part) ? part.text : null)) : null
  const statement: PreparedStatement = { text: composed.text, name: `s${lastNumber}`, fragments }
  statements.set(strings, statement)
  return statementOf(statement, parts)
}

/** Text from the code, never from a request, with its parameters as $1, $2 …: a part of statements that stay prepared. */
export function fragment(text: string, ...values: unknown[]): Sql {
  return { text, values, fixed: true, [BRAND]: true }
}

function sameFragments({ fragments }: PreparedStatement, parts: unknown[]): boolean {
  if (fragments === null) return !parts.some(isSql)
  return parts.every((part, i) => (isSql(part) ? part.text : null) === fragments[i])
}

function statementOf({ text, name, fragments }: PreparedStatement, parts: unknown[]): Sql {
  const values = fragments === null ? parts : parts.flatMap((part) => (isSql(part) ? part.values : [part]))
  return { text, name, values, [BRAND]: true }
}

function compose(strings: TemplateStringsArray, parts: unknown[]): Sql {
  const values: unknown[] = []
  let text = strings[0] as string
  parts.forEach((part, i) => {
    if (isSql(part)) {
      text += part.text.replace(/\$(\d+)/g, (_, n) => `$${Number(n) + values.length}`)
      values.push(...part.values)
    } else {
      values.push(part)
      text += `$${values.length}`
    }
    text += strings[i + 1]
  })
  return { text, values, [BRAND]: true }
}

function isSql(part: unknown): part is Sql {
  return typeof part === 'object' && part !== null && BRAND in part
}
