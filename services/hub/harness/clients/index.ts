import createClient, { type Client } from 'openapi-fetch'
import type { components, paths } from './schema.js'

export type { components, operations, paths } from './schema.js'

/** What went wrong, as a server answers it. */
export type Fault = components['schemas']['Error']

/** A client of the server at a URL such as https://parley.example.org, with a key. */
export function parley(url: string, key: string): Client<paths> {
  return createClient<paths>({
    baseUrl: url.replace(/\/(mcp)?\/?$/, ''),
    headers: { Authorization: `Bearer ${key}` },
    redirect: 'error', // a key must not follow one
  })
}
