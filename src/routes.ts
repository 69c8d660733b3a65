// Every operation of the API, in the order of the docs.

import { countryRoutes } from './billing/countries/routes.ts'
import { billingRoutes } from './billing/routes.ts'
import type { Route } from './core/route.ts'
import { customerRoutes } from './customers/routes.ts'
import { eventRoutes } from './events/routes.ts'
import { factorRoutes } from './identity/factor-routes.ts'
import { oidcRoutes } from './identity/oidc-routes.ts'
import { identityRoutes } from './identity/routes.ts'
import { inProcessRoutes } from './keys/in-process/routes.ts'
import { keyRoutes } from './keys/routes.ts'
import { serviceTokenRoutes } from './service-tokens/routes.ts'
import { settingRoutes } from './settings/routes.ts'
import { storeRoutes } from './stores/routes.ts'
import { webhookRoutes } from './webhooks/routes.ts'

export const routes: Route[] = [
  ...keyRoutes,
  ...inProcessRoutes,
  ...billingRoutes,
  ...customerRoutes,
  ...countryRoutes,
  ...storeRoutes,
  ...serviceTokenRoutes,
  ...eventRoutes,
  ...webhookRoutes,
  ...identityRoutes,
  ...oidcRoutes,
  ...factorRoutes,
  ...settingRoutes,
]
