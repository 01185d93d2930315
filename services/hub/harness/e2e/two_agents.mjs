// Two agents meet over the TypeScript SDK: node two_agents.mjs legacy|modern
// Environment: PARLEY_URL (…/mcp), PARLEY_KEY (speaks for alpha), PARLEY_KEY_BETA (for beta).
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'

const eras = {
  legacy: {
    protocolVersion: '2025-11-25',
    async sdk() {
      const { Client } = await import('@modelcontextprotocol/sdk/client/index.js')
      const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js')
      const { McpError } = await import('@modelcontextprotocol/sdk/types.js')
      return { Client, StreamableHTTPClientTransport, ProtocolError: McpError, options: {} }
    },
    negotiated: (client, transport) => transport.protocolVersion,
  },
  modern: {
    protocolVersion: '2026-07-28',
    async sdk() {
      const { Client, StreamableHTTPClientTransport, ProtocolError } = await import('@modelcontextprotocol/client')
      return { Client, StreamableHTTPClientTransport, ProtocolError, options: { versionNegotiation: { mode: 'auto' } } }
    },
    negotiated: (client) => client.getNegotiatedProtocolVersion(),
  },
}

let steps = 0
let doing = 'reading the arguments'

function step(name) {
  steps++
  doing = name
}

async function connect(era, program, key) {
  const sdk = await era.sdk()
  const transport = new sdk.StreamableHTTPClientTransport(new URL(process.env.PARLEY_URL), {
    requestInit: { headers: { Authorization: `Bearer ${key}` } },
  })
  const client = new sdk.Client({ name: program, version: '1.0.0' }, sdk.options)
  await client.connect(transport)
  return {
    negotiated: era.negotiated(client, transport),
    ProtocolError: sdk.ProtocolError,
    tools: async () => (await client.listTools()).tools.map((tool) => tool.name),
    call: (name, args) => client.callTool({ name, arguments: args }),
    close: () => client.close(),
    // The structured result of a call that has to succeed.
    async ask(name, args) {
      const result = await this.call(name, args)
      assert.ok(!result.isError, `${name}: expected a result, got the fault: ${text(result)}`)
      assert.ok(result.structuredContent, `${name}: expected structuredContent, got ${inspect(result)}`)
      return result.structuredContent
    },
    // The text of a call that has to fail.
    async fault(name, args) {
      const result = await this.call(name, args)
      assert.equal(result.isError, true, `${name}: expected a fault, got ${inspect(result, { depth: 5 })}`)
      return text(result)
    },
  }
}

function text(result) {
  return (result.content ?? []).map((part) => part.text ?? `[${part.type}]`).join('\n')
}

async function shareTask(alpha, beta, title) {
  step('alpha creates a task for beta')
  const { taskId } = await alpha.ask('create_task', { title, target: 'beta' })
  assert.equal(typeof taskId, 'string')

  step('beta finds it')
  const { tasks } = await beta.ask('get_tasks', { target: 'beta' })
  const found = tasks.find((task) => task.id === taskId)
  assert.equal(found?.title, title, `expected ${taskId} among ${inspect(tasks)}`)

  step('beta claims it')
  const { claimToken } = await beta.ask('claim_task', { taskId })
  assert.equal(typeof claimToken, 'number')

  step('alpha cannot claim it, too')
  await alpha.fault('claim_task', { taskId })

  step('beta completes it')
  await beta.ask('complete_task', { taskId, claimToken, result: 'done' })
}

async function exchangeMessage(alpha, beta, message) {
  step('beta waits for a message, then alpha sends one')
  const began = performance.now()
  const waiting = beta.ask('get_messages', { waitMs: 10_000 })
  waiting.catch(() => {}) // it is awaited below; until then its failure must not end the process
  await sleep(500)
  await alpha.ask('send_message', { message, source: 'alpha', target: 'beta', message_type: 'QUERY' })
  const { messages } = await waiting
  const waited = performance.now() - began
  assert.equal(messages.length, 1, `expected one message, got ${inspect(messages)}`)
  const { id, source, verified, message: received } = messages[0]
  assert.deepEqual({ source, verified, message: received }, { source: 'alpha', verified: true, message })
  assert.equal(typeof id, 'string')
  assert.ok(waited < 8_000, `expected the message to end the wait, got it after ${Math.round(waited)} ms`)

  step('beta acknowledges it')
  await beta.ask('ack_messages', { messageIds: [id] })

  step('nothing is left')
  assert.deepEqual((await beta.ask('get_messages', {})).messages, [])
}

async function makeMistakes(agent) {
  step('a bad argument is a fault that names it')
  assert.match(await agent.fault('get_messages', { limit: -1 }), /limit/)

  step('an unknown tool is a protocol error')
  await assert.rejects(agent.call('no_such_tool', {}), (error) => {
    assert.ok(error instanceof agent.ProtocolError, `expected a protocol error, got ${inspect(error)}`)
    assert.equal(error.code, -32602)
    return true
  })
}

async function run(name) {
  const era = eras[name]
  assert.ok(era, `expected legacy or modern, got ${name}`)
  for (const variable of ['PARLEY_URL', 'PARLEY_KEY', 'PARLEY_KEY_BETA']) {
    assert.ok(process.env[variable], `expected ${variable} in the environment`)
  }

  step('both connect')
  const alpha = await connect(era, 'alpha', process.env.PARLEY_KEY)
  const beta = await connect(era, 'beta', process.env.PARLEY_KEY_BETA)
  assert.equal(alpha.negotiated, era.protocolVersion)

  step('both see the tools')
  for (const agent of [alpha, beta]) {
    const tools = await agent.tools()
    for (const tool of ['create_task', 'claim_task', 'send_message', 'get_messages']) {
      assert.ok(tools.includes(tool), `expected ${tool} among ${tools}`)
    }
  }

  await shareTask(alpha, beta, `A task of the ${name} era`)
  await exchangeMessage(alpha, beta, `Are you there, in the ${name} era?`)
  await makeMistakes(beta)

  step('both leave')
  await Promise.all([alpha.close(), beta.close()])
  return { era: name, protocolVersion: alpha.negotiated, ok: true, steps }
}

try {
  console.log(JSON.stringify(await run(process.argv[2])))
  process.exit(0)
} catch (error) {
  console.error(`step ${steps} (${doing}): ${error.message}`)
  if (error instanceof assert.AssertionError) {
    console.error(`expected: ${inspect(error.expected)}\ngot: ${inspect(error.actual)}`)
  } else {
    console.error(error)
  }
  process.exit(1)
}
