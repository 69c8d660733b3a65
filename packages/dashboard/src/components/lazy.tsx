// A component whose script is loaded when it is first shown, or before. Not React's own `lazy`: Suspense shows what has come
// up to 300 ms late, so that several that come in turn do not flicker, and every page would wait for that twice.

import { type ComponentType, type ReactNode, useEffect, useReducer, useState } from 'react'
import { Waiting } from './waiting.tsx'

export type Lazy<Props> = ComponentType<Props> & { preload(): void }

/** `meanwhile` stands in its place until the script is there. */
export function lazy<Props extends object>(
  load: () => Promise<{ default: ComponentType<Props> }>,
  meanwhile: ReactNode = <Waiting />,
): Lazy<Props> {
  let Loaded: ComponentType<Props> | null = null
  let loading: Promise<void> | null = null
  const loadOnce = () => {
    loading ??= load().then((module) => {
      Loaded = module.default
    })
    return loading
  }
  function Lazy(props: Props) {
    const [failure, setFailure] = useState<unknown>(null)
    const [, showLoaded] = useReducer((count: number) => count + 1, 0)
    const Shown = Loaded
    useEffect(() => {
      // It may have come between this rendering and now.
      if (!Shown) loadOnce().then(showLoaded, setFailure)
    }, [Shown])
    if (failure) throw failure
    return Shown ? <Shown {...props} /> : meanwhile
  }
  // Whoever shows it is told of a failure.
  return Object.assign(Lazy, { preload: () => void loadOnce().catch(() => {}) })
}
