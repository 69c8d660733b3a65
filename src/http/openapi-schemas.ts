// The schemas of the OpenAPI document: one with a title is declared once, under its title, and referred to from elsewhere.

import type { TSchema } from 'typebox'
import { ERRORS } from '../core/errors.ts'

export type Json = Record<string, unknown>

export function toRef(schema: TSchema, schemas: Json): Json {
  const { title } = schema as { title?: string }
  if (!title) return stripExtensions(schema, schemas)
  schemas[title] ??= stripExtensions(schema, schemas, true)
  return { $ref: `#/components/schemas/${title}` }
}

/** Leaves out the `x-` members, which only our validator understands. */
export function stripExtensions(schema: unknown, schemas: Json | null = null, top = false): Json {
  if (Array.isArray(schema)) return schema.map((entry) => stripExtensions(entry, schemas)) as unknown as Json
  if (typeof schema !== 'object' || schema === null) return schema as Json
  if (!top && schemas && 'title' in schema && 'type' in schema) return toRef(schema as TSchema, schemas)
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([name]) => !name.startsWith('x-'))
      .map(([name, value]) => [name, stripExtensions(value, schemas)]),
  )
}

export const PROBLEM = {
  type: 'object',
  description: 'What went wrong (RFC 9457). `code` is stable; the wording is not.',
  required: ['type', 'title', 'status', 'detail', 'instance', 'code', 'requestId'],
  properties: {
    type: { type: 'string', description: 'Leads to a page about this error.', examples: ['/errors/invalid_input'] },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    instance: { type: 'string' },
    code: { type: 'string', enum: Object.keys(ERRORS) },
    requestId: { type: 'string' },
    required: {
      type: 'array',
      items: { type: 'string' },
      description: 'With `insufficient_permission`: what would do.',
    },
    permissions: {
      type: 'array',
      items: { type: 'string' },
      description: 'With `cannot_grant`: what you do not hold.',
    },
    resource: {
      type: 'object',
      properties: { id: { type: 'string' } },
      description: 'With `secret_no_longer_available`: what was made.',
    },
    challenge: {
      type: 'string',
      description: 'With `second_factor_required`: what the second step needs. It works once.',
    },
    expiresAt: {
      type: 'string',
      format: 'date-time',
      description: 'With `second_factor_required`: until when the challenge works.',
    },
    methods: {
      type: 'array',
      items: { type: 'string', enum: ['totp', 'passkey', 'recovery_code'] },
      description: 'With `second_factor_required`: what the account has.',
    },
    passkey: {
      type: 'object',
      additionalProperties: true,
      description:
        "With `second_factor_required` and a passkey: WebAuthn's `PublicKeyCredentialRequestOptionsJSON` for this challenge.",
    },
    errors: {
      type: 'array',
      maxItems: 32,
      description: 'With `invalid_input`: every fault at once.',
      items: {
        type: 'object',
        required: ['pointer', 'code', 'detail'],
        properties: {
          pointer: { type: 'string', description: 'Where: `#/name` in the body, `?limit` in the query.' },
          code: { type: 'string' },
          detail: { type: 'string' },
          example: { type: 'string' },
          suggestion: { type: 'string', description: 'What was perhaps meant: the code of a state.' },
        },
      },
    },
  },
}
