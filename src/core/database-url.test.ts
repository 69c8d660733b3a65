import { expect, test } from 'vitest'
import { urlsOfHosts } from './database-url.ts'

test('a URL with one host stays as it is', () => {
  for (const url of [
    'postgres://u:p@db.internal:5432/shop?sslmode=verify-full',
    'postgresql://db.internal/shop',
    'postgres://u@/shop?host=%2Frun%2Fpostgresql',
    'postgres://u:a,b@db/shop',
    'postgres://%2Frun%2Fpostgresql/shop',
  ])
    expect(urlsOfHosts(url)).toEqual([url])
})

test('a list of hosts is one URL for each', () => {
  expect(urlsOfHosts('postgres://u:p,w@a:5432,b:5433,[::1]:5434,c/shop?sslmode=require')).toEqual([
    'postgres://u:p,w@a:5432/shop?sslmode=require',
    'postgres://u:p,w@b:5433/shop?sslmode=require',
    'postgres://u:p,w@[::1]:5434/shop?sslmode=require',
    'postgres://u:p,w@c/shop?sslmode=require',
  ])
  expect(urlsOfHosts('postgres://u@/shop?host=a,b&port=5432,5433')).toEqual([
    'postgres://u@localhost/shop?host=a&port=5432',
    'postgres://u@localhost/shop?host=b&port=5433',
  ])
  expect(urlsOfHosts('postgres://u@localhost/shop?host=/run/a,/run/b&port=6000')).toEqual([
    'postgres://u@localhost/shop?host=%2Frun%2Fa&port=6000',
    'postgres://u@localhost/shop?host=%2Frun%2Fb&port=6000',
  ])
})

test('what is wrong with a list is told without repeating it', () => {
  expect(() => urlsOfHosts('mysql://a,b/shop')).toThrow('must begin with postgres://')
  expect(() => urlsOfHosts('postgres://a:x,b/shop')).toThrow('must be a URL')
  expect(() => urlsOfHosts('postgres://a,,b/shop')).toThrow('names an empty host')
  expect(() => urlsOfHosts('postgres://u@/shop?host=a,')).toThrow('names an empty host')
  expect(() => urlsOfHosts('postgres://u@/shop?host=a,b,c&port=1,2')).toThrow('one port, or one for each host')
})
