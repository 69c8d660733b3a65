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
  description:
    'Why a request failed, as problem details (RFC 9457). Rely on `code`: it never changes, while titles and details may.',
  required: ['type', 'title', 'status', 'detail', 'instance', 'code', 'requestId'],
  properties: {
    type: { type: 'string', description: 'The URL of a page about this error.', examples: ['/errors/invalid_input'] },
    title: { type: 'string', description: 'The error in a few words, the same for every error with this `code`.' },
    status: { type: 'integer', description: 'The HTTP status.' },
    detail: { type: 'string', description: 'What went wrong with this request, and what to do about it.' },
    instance: { type: 'string', description: 'The path of the request.' },
    code: {
      type: 'string',
      enum: Object.keys(ERRORS),
      description: 'A stable code for programs. `/errors/{code}` explains each. New codes may be added.',
    },
    requestId: {
      type: 'string',
      description: 'The id of the request, also sent as `X-Request-Id`. Quote it when you ask for help.',
    },
    required: {
      type: 'array',
      items: { type: 'string' },
      description: 'With `insufficient_permission`: the permission you need.',
    },
    permissions: {
      type: 'array',
      items: { type: 'string' },
      description: 'With `cannot_grant`: the permissions you do not have.',
    },
    resource: {
      type: 'object',
      properties: { id: { type: 'string', description: 'Its id.' } },
      description:
        'With `secret_no_longer_available`: what the first request created. With `response_no_longer_available`: the key it was about.',
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
      description: 'With `invalid_input`: everything that is wrong with the input.',
      items: {
        type: 'object',
        required: ['pointer', 'code', 'detail'],
        properties: {
          pointer: {
            type: 'string',
            description: 'Which field or parameter: `#/name` in the body, `?limit` in the query.',
          },
          code: { type: 'string', description: 'A stable code for programs.', examples: ['required'] },
          detail: { type: 'string', description: 'What is wrong with it.' },
          example: { type: 'string', description: 'A valid value.' },
          suggestion: {
            type: 'string',
            description: 'What may have been meant: a field, a value, or the code of a state or a country.',
          },
        },
      },
    },
  },
}
