// The frame of the pages for people who are not signed in.

import { type ReactNode, useEffect } from 'react'
import { setTitle } from '../../app/cover.ts'
import { startAnew } from '../../app/known-user.ts'
import { paths } from '../../app/paths.ts'
import { useGate } from '../../app/session.ts'
import { Notice } from '../../components/light.tsx'
import { Mark } from '../../components/mark.tsx'
import { texts } from '../../texts.ts'

export function Narrow({ title, children }: { title: string; children: ReactNode }) {
  const gate = useGate()
  useEffect(() => setTitle(`${title} · ${texts.app.name}`), [title])
  // The way back has led here from a page that asked for a new sign-in: nothing of that page waits any more.
  useEffect(() => {
    if (gate) startAnew()
  }, [gate])
  return (
    <main className="light-page">
      <div className="light-brand">
        <Mark />
        {texts.app.name}
      </div>
      <div className="light-card">
        <h1>{title}</h1>
        {children}
      </div>
      <div className="light-links">
        <a href="/docs">{texts.app.docs}</a>
        {location.pathname !== paths.foundKey && <a href={paths.foundKey}>{texts.signIn.foundKey}</a>}
      </div>
    </main>
  )
}

export function CookieRefused() {
  return (
    <Notice tone="bad" title={texts.signIn.cookieRefused}>
      {texts.signIn.cookieRefusedHelp}
    </Notice>
  )
}
