// How HTTP speaks of the rules of countries.

import { type Route, route } from '../core/route.ts'
import { Countries, Country, listCountries, readCountry } from './show-country.ts'

/** The rules change with a release. An hour later every form has them, and until then each asks once an hour. */
const RULES_CACHE_SECONDS = 60 * 60

export const countryRoutes: Route[] = [
  route(
    {
      method: 'GET',
      path: '/v1/countries',
      needs: 'public',
      summary: 'List the countries',
      description: 'All of them in one answer, in the order of their English names.',
      returns: [200, Countries],
      cacheSeconds: RULES_CACHE_SECONDS,
    },
    () => listCountries(),
  ),
  route(
    {
      method: 'GET',
      path: '/v1/countries/:code',
      needs: 'public',
      summary: 'Read the address rules of a country',
      description:
        'By its ISO 3166 code of two or three letters. The rules are the ones addresses are checked by: the fields in the order the country writes them, what they are called there, which are required, and the states to choose from.',
      returns: [200, Country],
      errors: ['country_not_found'],
      cacheSeconds: RULES_CACHE_SECONDS,
    },
    ({ params }) => readCountry(params.code),
  ),
]
