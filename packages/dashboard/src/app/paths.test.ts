import { expect, test } from 'vitest'
import { ownPath } from './paths.ts'

test('a way back is a path of the dashboard, which leads to no other host', () => {
  for (const path of ['/', '/stores', '/stores/', '/stores/a.b/..c/...', '/a%2Fb?c=d&e=//f/../g', '/a/%252e%252e/b'])
    expect(ownPath(path)).toBe(path)
  const foreign = ['', 'x', 'https://evil.example', '//evil.example', '/\\evil.example', '/a\\b', '/\t/evil.example']
  const dots = ['.', '..', '%2e', '%2E%2e', '.%2E', '%2e.']
  const dotted = dots.flatMap((dot) => [`/${dot}`, `/${dot}//evil.example/x`, `/a/${dot}/b`, `/a/${dot}?b`])
  for (const path of [...foreign, ...dotted, '/a//evil.example', '/a//']) expect(ownPath(path), path).toBeNull()
})
