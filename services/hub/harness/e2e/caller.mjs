// Calls tools with a TypeScript SDK for another process: node caller.mjs legacy|modern
// The first line of standard input is {url, key}. Each further line is a call, {id, tool, arguments, requestId, timeout},
// or the end of one that has no result yet, {id, cancel: true}. For each call a line of JSON is printed:
//   {id, status, headers, body, failed, result, error, gaveUp, unconnected}
// status, headers and body are the answer that came over the network, and failed is why none came. result is {isError} of
// what the SDK made of it, and error what it threw. gaveUp is true where the SDK has given the call up, after its timeout
// in milliseconds or because it was cancelled, and unconnected where it was never sent.
// The process ends with its standard input.
import { createInterface } from 'node:readline'
import { load } from './sdk.mjs'

const sdk = await load(process.argv[2])
const input = createInterface({ input: process.stdin })
const calls = new Map() // those without a result, by id
const idle = [] // connections; each carries one call at a time
let server

class Connection {
  async open(signal) {
    this.client = new sdk.Client({ name: 'parley-chaos', version: '1.0.0' }, sdk.options)
    this.client.onerror = () => {} // what concerns a call is thrown by it
    await this.client.connect(new sdk.StreamableHTTPClientTransport(new URL(server.url), {
      requestInit: { headers: { Authorization: `Bearer ${server.key}` } },
      fetch: (url, init) => this.fetch(url, init),
    }), { signal })
  }

  // Sends the call of a tool with its request id, and records the answer. Other requests are not part of a call.
  async fetch(url, init) {
    const call = this.call
    if (!call || typeof init?.body !== 'string' || !init.body.includes('"method":"tools/call"')) return fetch(url, init)
    const headers = new Headers(init.headers)
    headers.set('X-Request-Id', call.requestId)
    try {
      const response = await fetch(url, { ...init, headers })
      const body = await response.text()
      call.answer = { status: response.status, headers: Object.fromEntries(response.headers), body }
      return new Response(body || null, { status: response.status, headers: response.headers })
    } catch (error) {
      call.answer = { failed: `${error.message}: ${error.cause?.message ?? 'no cause'}` }
      throw error
    }
  }

  // Returns what the SDK makes of a call.
  async make(call) {
    this.call = call
    try {
      const { isError } = await sdk.call(this.client, { name: call.tool, arguments: call.arguments },
        { timeout: call.timeout, signal: call.controller.signal })
      return { result: { isError: Boolean(isError) } }
    } catch (error) {
      return { error: error.message, gaveUp: sdk.gaveUp(error) }
    }
  }
}

// Makes a call. As with any client, a connection on which a call was given up is used again; after another error it is
// closed.
async function make(call) {
  let connection = idle.pop()
  if (!connection) {
    connection = new Connection()
    try {
      await connection.open(call.controller.signal)
    } catch (error) {
      return { unconnected: true, error: error.message }
    }
  }
  const made = await connection.make(call)
  if (made.error && !made.gaveUp) await connection.client.close()
  else idle.push(connection)
  return made
}

for await (const line of input) {
  const message = JSON.parse(line)
  if (!server) {
    server = message
  } else if (message.cancel) {
    calls.get(message.id)?.controller.abort(new Error('the agent has given up'))
  } else {
    const call = { ...message, controller: new AbortController() }
    calls.set(call.id, call)
    make(call).then((made) => {
      calls.delete(call.id)
      console.log(JSON.stringify({ id: call.id, ...call.answer, ...made }))
    })
  }
}
process.exit(0)
