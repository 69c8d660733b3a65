import { lazy } from '../components/lazy.tsx'

/** What all pages behind the sign-in stand in. */
export const Shell = lazy(() => import('./shell.tsx'))
