// What is served in place of the dashboard where it was not built: the page at "/", and one for all others.

import { userCommand } from '../../core/invocation.ts'
import { layout } from './layout.ts'

export const FRONT_PAGE = layout(
  'Storekeeper',
  `<main><h1>Storekeeper</h1><p>This service issues API keys for stores and keeps the billing addresses of their users.</p>
<div class="cards"><a class="card" href="/docs"><b>Docs</b>Tutorials, guides and a search.</a>
<a class="card" href="/docs/reference"><b>The API</b>Every operation, with an example to send.</a>
<a class="card" href="/errors"><b>Errors</b>What each one means, and how to fix it.</a>
<a class="card" href="/openapi.json"><b>OpenAPI 3.1</b>The API description, for tools and code generators.</a></div>
<h4>Try it</h4><p>In the folder the service was started from:</p><pre>${userCommand('quickstart')}</pre>
<p>It signs up, creates a store, a key and a billing address, and prints each request as a <code>curl</code> command with its response.</p></main>`,
)

export const NOT_BUILT_PAGE = layout(
  'Not built · Storekeeper',
  `<main class="narrow"><h1>The dashboard is not built</h1>
<p>This page belongs to the dashboard, and this installation of the service has none. In its folder, build it and start the service again:</p>
<pre>npm ci</pre>
<p>The API works without it. A link that you were sent still works once the dashboard is there.</p></main>`,
)
