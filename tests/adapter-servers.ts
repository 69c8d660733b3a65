// The same small API behind every adapter, each on a server and port of its own.

import { createServer, type RequestListener, type Server } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import { type ApiKey, requireKey as expressKey, type KeyOptions, type KeySource } from '@storekeeper/client/express'
import { apiKeys, requireKey as fastifyKey } from '@storekeeper/client/fastify'
import { requireKey as honoKey } from '@storekeeper/client/hono'
import { requireKey as koaKey } from '@storekeeper/client/koa'
import { withKey } from '@storekeeper/client/web'
import express5 from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { request } from 'undici'
import { onTestFinished } from 'vitest'

type Options = Omit<KeyOptions<[]>, 'storeId'> & { storeId?: string | (() => string | undefined) }
/** One check after the other. `storeInPath`: the store is the last part of the path. */
type Check = { permissions?: string | string[]; options?: Options; storeInPath?: boolean }
export type ApiRoute = { path: string; checks: Check[] }
/** What a route answers that has let somebody in. */
export type Handle = (path: string, apiKey: ApiKey) => object
type Serve = (sk: KeySource, routes: ApiRoute[], handle: Handle, trustsProxy: boolean) => Promise<string>

const argsOf = (
  { permissions, options, storeInPath }: Check,
  storeOf: (...args: any[]) => string,
  more: object = {},
): any => {
  const all = { ...more, ...options, ...(storeInPath ? { storeId: storeOf } : {}) }
  return permissions === undefined && Object.keys(all).length === 0 ? [] : [permissions ?? [], all]
}
const pattern = ({ path, checks }: ApiRoute) =>
  checks.some(({ storeInPath }) => storeInPath) ? `${path}/:store` : path

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const onExpress =
  (express: typeof express5): Serve =>
  (sk, routes, handle, trustsProxy) => {
    const app = express()
    app.set('trust proxy', trustsProxy)
    // Its own words about errors would go to stderr.
    app.set('env', 'test')
    for (const route of routes) {
      const checks = route.checks.map((check) => expressKey(sk, ...argsOf(check, (req) => req.params.store)))
      app.get(pattern(route), ...checks, (req, res) => void res.json(handle(route.path, req.apiKey)))
    }
    return listen(createServer(app as RequestListener))
  }

const onFastify: Serve = async (sk, routes, handle, trustProxy) => {
  const app = fastify({ trustProxy })
  await app.register(apiKeys)
  for (const route of routes) {
    const checks = route.checks.map((check) => fastifyKey(sk, ...argsOf(check, (request) => request.params.store)))
    app.get(pattern(route), { onRequest: checks }, async (request) => handle(route.path, request.apiKey))
  }
  onTestFinished(() => app.close())
  return app.listen({ port: 0, host: '127.0.0.1' })
}

/** Hono trusts no proxy: a function says what the address is. */
const onHono: Serve = (sk, routes, handle, trustsProxy) => {
  const app = new Hono()
  const ip = trustsProxy ? (c: any) => c.req.header('x-forwarded-for') : getConnInfo
  for (const route of routes) {
    for (const check of route.checks)
      app.use(pattern(route), honoKey(sk, ...argsOf(check, (c) => c.req.param('store'), { ip })))
    app.get(pattern(route), (c) => c.json(handle(route.path, (c.var as { apiKey: ApiKey }).apiKey)))
  }
  app.onError((_, c) => c.text('failed', 500))
  return listen(createServer(getRequestListener(app.fetch)))
}

const onKoa: Serve = (sk, routes, handle, trustsProxy) => {
  const app = new Koa<{ apiKey: ApiKey }>()
  app.proxy = trustsProxy
  app.silent = true
  app.on('error', () => {})
  for (const route of routes) {
    const matches = (path: string) =>
      path === route.path || (pattern(route) !== route.path && path.startsWith(`${route.path}/`))
    for (const check of route.checks) {
      const checked = koaKey(sk, ...argsOf(check, (ctx) => ctx.path.split('/').at(-1)))
      app.use((ctx, next) => (matches(ctx.path) ? checked(ctx, next) : next()))
    }
    app.use((ctx, next) => {
      if (!matches(ctx.path)) return next()
      ctx.body = handle(route.path, ctx.state.apiKey)
      return undefined
    })
  }
  return listen(createServer(app.callback()))
}

/** As runtimes of the web standard do it: they tell of the address beside the request. */
const onTheWeb: Serve = (sk, routes, handle, trustsProxy) => {
  type Info = { address: string | undefined }
  const ip = (request: Request, { address }: Info) =>
    trustsProxy ? (request.headers.get('x-forwarded-for') ?? undefined) : address
  const handlers = routes.map((route) => {
    const last = async (_: Request, { apiKey }: { apiKey: ApiKey }) => Response.json(handle(route.path, apiKey))
    const storeOf = (request: Request) => new URL(request.url).pathname.split('/').at(-1) as string
    const [first, ...more] = route.checks.map((check) => argsOf(check, storeOf, { ip }))
    const inner = more.reverse().reduce((handler: any, [permissions, options]) => {
      const wrapped = withKey<[Info]>(sk, permissions, handler, options)
      return (request: Request, _: unknown, info: Info) => wrapped(request, info)
    }, last)
    return { route, handler: withKey<[Info]>(sk, first[0], inner, first[1]) }
  })
  const listener: RequestListener = (incoming, outgoing) => {
    const { pathname } = new URL(incoming.url as string, 'http://localhost')
    const found = handlers.find(({ route: { path } }) => pathname === path || pathname.startsWith(`${path}/`))
    const headers = new Headers()
    for (let n = 0; n < incoming.rawHeaders.length; n += 2)
      headers.append(incoming.rawHeaders[n] as string, incoming.rawHeaders[n + 1] as string)
    const request = new Request(`http://localhost${incoming.url}`, { headers })
    const answered = found?.handler(request, { address: incoming.socket.remoteAddress })
    Promise.resolve(answered ?? new Response(null, { status: 404 }))
      .catch(() => new Response('failed', { status: 500 }))
      .then(async (response) => {
        outgoing.writeHead(response.status, Object.fromEntries(response.headers))
        outgoing.end(await response.text())
      })
      .catch(() => outgoing.destroy())
  }
  return listen(createServer(listener))
}

const express4: typeof express5 = createRequire(import.meta.url)('express4')

export const ADAPTERS: Record<string, Serve> = {
  'Express 4': onExpress(express4),
  'Express 5': onExpress(express5),
  Fastify: onFastify,
  Hono: onHono,
  Koa: onKoa,
  'the web standard': onTheWeb,
}

export type Answered = { status: number; headers: Record<string, any>; text: string; body: any }

/** Sends headers as they are, also twice: fetch would join them. */
export async function ask(url: string, headers: Record<string, string | string[]> = {}): Promise<Answered> {
  const lines = Object.entries(headers).flatMap(([name, values]) => [values].flat().flatMap((value) => [name, value]))
  const response = await request(url, { headers: lines })
  const text = await response.body.text()
  const isJson = /json/.test(String(response.headers['content-type']))
  return { status: response.statusCode, headers: response.headers, text, body: isJson ? JSON.parse(text) : null }
}
