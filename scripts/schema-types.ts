// TypeScript types from the schemas of requests and answers. A request says what the service accepts; an answer may, from a
// newer service, hold members and values that are not known yet, so its enumerations are open.

export type Schema = {
  title?: string
  description?: string
  type?: string | string[]
  enum?: (string | null)[]
  format?: string
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  items?: Schema
  default?: unknown
}

export type Use = 'request' | 'answer'

/** The types with a name: each is declared once. */
export class DeclaredTypes {
  private readonly texts = new Map<string, string>()

  nameOf(schema: Schema, use: Use): string {
    const { title } = schema
    if (!title) return writeType(schema, use, this)
    const text = `${doc(schema.description)}${this.declaration(title, schema, use)}\n`
    const known = this.texts.get(title)
    if (known !== undefined && known !== text) throw new Error(`${title} is the name of two types`)
    this.texts.set(title, text)
    return title
  }

  declarations(): string[] {
    return [...this.texts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text)
  }

  private declaration(title: string, schema: Schema, use: Use): string {
    if (schema.properties?.code?.enum?.includes('VALID') && schema.properties.valid)
      return this.verdict(title, schema, schema.properties.code)
    if (schema.properties) return `export interface ${title} ${writeType({ ...schema, title: '' }, use, this)}`
    return `export type ${title} = ${writeType({ ...schema, title: '' }, use, this)}`
  }

  /** A union on `valid`: of a valid key all is known, though it need have neither an end nor an owner. */
  private verdict(title: string, schema: Schema, code: Schema): string {
    const { required = [], properties = {} } = schema
    const { valid, code: _, ...rest } = properties
    const write = (given: Record<string, Schema>) =>
      writeType({ type: 'object', required, properties: given }, 'answer', this)
    const known = Object.entries(rest).map(([name, member]) => [
      name,
      required.includes(name) && !['expiresAt', 'owner', 'lease'].includes(name) ? notNull(member) : member,
    ])
    const say = (schema: Schema | undefined, member: string) => `${doc(schema?.description)}${member}\n`
    const codes = code.enum?.filter((value) => value !== 'VALID') ?? []
    return [
      `export type ${title} = Valid${title} | Refused${title}\n`,
      `/** Let the caller in. */`,
      `export interface Valid${title} ${write(Object.fromEntries(known)).replace('{', `{\n${say(valid, 'valid: true')}${say(code, `code: 'VALID'`)}`)}\n`,
      `/** Do not let the caller in. */`,
      `export interface Refused${title} ${write(rest).replace('{', `{\n${say(valid, 'valid: false')}${say(code, `code: ${open(codes)}`)}`)}`,
    ].join('\n')
  }
}

/** The type in words. Without `types`, those with a title are written out. */
export function writeType(schema: Schema, use: Use, types: DeclaredTypes | null): string {
  if (schema.title && types) return types.nameOf(schema, use)
  if (schema.enum) {
    const values = schema.enum.filter((value) => value !== null)
    const words = use === 'answer' ? open(values) : values.map(quoted).join(' | ')
    return values.length === schema.enum.length ? words : `${words} | null`
  }
  if (Array.isArray(schema.type))
    return schema.type.map((type) => writeType({ ...schema, type }, use, types)).join(' | ')
  switch (schema.type) {
    case 'string':
      return schema.format === 'date-time' && use === 'request' ? 'string | Date' : 'string'
    case 'integer':
      return 'number'
    case 'boolean':
    case 'null':
      return schema.type
    case 'array':
      return writeList(writeType(schema.items ?? {}, use, types), use)
    case 'object':
      return writeObject(schema, use, types)
    default:
      return 'unknown'
  }
}

function writeList(item: string, use: Use): string {
  if (!/^\w+$/.test(item)) return `${use === 'answer' ? '' : 'Readonly'}Array<${item}>`
  return `${use === 'answer' ? '' : 'readonly '}${item}[]`
}

function writeObject(schema: Schema, use: Use, types: DeclaredTypes | null): string {
  const { properties, required = [], additionalProperties } = schema
  if (!properties)
    return `Record<string, ${typeof additionalProperties === 'object' ? writeType(additionalProperties, use, types) : 'unknown'}>`
  const lines = Object.entries(properties).map(([name, member]) => {
    const type = writeType(member, use, types)
    const isRequired = required.includes(name)
    return `${doc(member.description)}${name}${isRequired ? '' : '?'}: ${type}${isRequired || use === 'answer' ? '' : ' | undefined'}`
  })
  return `{\n${lines.join('\n')}\n}`
}

/** Known values, shown by an editor, and any other. */
function open(values: (string | null)[]): string {
  return `${values.map((value) => quoted(String(value))).join(' | ')} | (string & {})`
}

function notNull(schema: Schema): Schema {
  if (schema.enum) return { ...schema, enum: schema.enum.filter((value) => value !== null) }
  if (!Array.isArray(schema.type)) return schema
  const [type] = schema.type.filter((name) => name !== 'null')
  return { ...schema, ...(type === undefined ? {} : { type }) }
}

export function quoted(text: string | null): string {
  return `'${String(text).replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}

/** A doc comment, in lines of at most 110 characters. */
export function doc(text: string | undefined): string {
  if (!text) return ''
  const lines = text.split('\n').flatMap((paragraph) => wrapped(paragraph.replaceAll('*/', '*\\/')))
  if (lines.length === 1) return `/** ${lines[0]} */\n`
  return `/**\n${lines.map((line) => ` * ${line}`.trimEnd()).join('\n')}\n */\n`
}

function wrapped(text: string): string[] {
  const lines = ['']
  for (const word of text.split(' ')) {
    const line = lines.at(-1) as string
    if (line !== '' && line.length + word.length > 108) lines.push(word)
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`
  }
  return lines
}
