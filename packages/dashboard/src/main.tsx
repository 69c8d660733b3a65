import './styles.ts'
import { MantineProvider } from '@mantine/core'
import { setNonce } from 'get-nonce'
import { createRoot } from 'react-dom/client'
import { App, preloadPage } from './app/app.tsx'
import { takeLinkToken } from './app/link-token.ts'
import { dropExpiredNotes } from './app/notes.ts'
import { cssVariables, theme } from './theme.ts'

takeLinkToken()
dropExpiredNotes()

/** Of this answer's policy. Dialogs write their style through `get-nonce`, everything else through the provider. */
const nonce = document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce ?? ''
setNonce(nonce)

// A tab that was open during an upgrade asks for a file that is gone: the page is loaded again, with the new names.
addEventListener('vite:preloadError', () => location.reload())
preloadPage(location.pathname)

createRoot(document.getElementById('root') as HTMLElement).render(
  <MantineProvider
    theme={theme}
    cssVariablesResolver={cssVariables}
    defaultColorScheme="auto"
    getStyleNonce={() => nonce}
  >
    <App />
  </MantineProvider>,
)
