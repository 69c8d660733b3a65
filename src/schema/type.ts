// Schemas are plain JSON Schema. Their TypeScript types are typebox's, and only its types: loading the library itself
// at run time took 190 to 220 ms of a start of 1.1 s, and all we need of it is these few words.

import type TypeBox from 'typebox'

type Schema = Record<string, unknown>

const optionals = new WeakSet<object>()

function object(properties: Record<string, Schema>, options: Schema = {}): Schema {
  const required = Object.keys(properties).filter((name) => !optionals.has(properties[name] as Schema))
  return { type: 'object', ...(required.length > 0 ? { required } : {}), properties, ...options }
}

/** The same schema, as one that may be left out. */
function optional(schema: Schema): Schema {
  const copy = { ...schema }
  optionals.add(copy)
  return copy
}

function pick(schema: { properties: Record<string, Schema> }, names: string[], options?: Schema): Schema {
  return object(Object.fromEntries(names.map((name) => [name, schema.properties[name] as Schema])), options)
}

function partial(schema: { properties: Record<string, Schema> }, options?: Schema): Schema {
  const entries = Object.entries(schema.properties).map(([name, member]) => [name, optional(member)])
  return object(Object.fromEntries(entries), options)
}

// Each function builds the same schema as typebox's function of that name, so its type is true here.
export const Type = {
  Object: object as unknown as typeof TypeBox.Object,
  Array: ((items: Schema, options: Schema = {}) => ({
    type: 'array',
    items,
    ...options,
  })) as unknown as typeof TypeBox.Array,
  String: ((options: Schema = {}) => ({ type: 'string', ...options })) as unknown as typeof TypeBox.String,
  Integer: ((options: Schema = {}) => ({ type: 'integer', ...options })) as unknown as typeof TypeBox.Integer,
  Boolean: ((options: Schema = {}) => ({ type: 'boolean', ...options })) as unknown as typeof TypeBox.Boolean,
  Unsafe: ((schema: Schema) => schema) as unknown as typeof TypeBox.Unsafe,
  Optional: optional as unknown as typeof TypeBox.Optional,
  Pick: pick as unknown as typeof TypeBox.Pick,
  Partial: partial as unknown as typeof TypeBox.Partial,
}
