// Agents of a TypeScript SDK give up a wait, and ask again: node giving_up.mjs legacy|modern
// The first line of standard input is the plan, as JSON: {url, confirm, rounds, agents: [{name, reader, sender}]}, with
// the keys of each agent. In each round an agent's wait of 20 s is given up after 1 s, then a RESULT is sent to it, then
// it asks again. Where nothing is confirmed, the agent sends no message before the server has answered the cancellation.
// A line is printed when all rounds are over. After another line of input the agents read the rest, and what was sent
// and received is printed as JSON: {gaveUp, sent: [text], got: [{text, again}]}.
import { createInterface } from 'node:readline/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { load } from './sdk.mjs'

const sdk = await load(process.argv[2])
const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const plan = JSON.parse((await input.next()).value)
const report = { gaveUp: 0, sent: [], got: [] }

async function connect(name, key) {
  let cancelled = () => {}
  const transport = new sdk.StreamableHTTPClientTransport(new URL(plan.url), {
    requestInit: { headers: { Authorization: `Bearer ${key}` } },
    fetch: async (url, init) => {
      const response = await fetch(url, init)
      if (typeof init?.body === 'string' && init.body.includes('notifications/cancelled')) cancelled()
      return response
    },
  })
  const client = new sdk.Client({ name, version: '1.0.0' }, sdk.options)
  await client.connect(transport)
  return {
    // Resolves when the server has answered the next cancellation.
    cancellation: () => new Promise((resolve) => { cancelled = resolve }),
    async ask(tool, args, timeout) {
      for (;;) {
        const result = await sdk.call(client, { name: tool, arguments: args }, { timeout })
        if (!result.isError) return result.structuredContent
        const text = result.content?.[0]?.text ?? ''
        // After these nothing was done. In the emulator they are frequent where many call at once.
        if (!/^(CONFLICT|UNAVAILABLE)\b/.test(text)) throw new Error(`${tool}: ${text}`)
        await sleep(200 + 300 * Math.random())
      }
    },
    close: () => client.close(),
  }
}

const patience = 60_000

class Agent {
  async open({ name, reader, sender }) {
    this.name = name
    this.reader = await connect(name, reader)
    this.sender = await connect('sender', sender)
  }

  // Reads the inbox. A read confirms the one before.
  async read(waitMs, timeout) {
    const args = { waitMs, ...(plan.confirm ? { confirm: true } : {}), ...(this.receipt ? { receipt: this.receipt } : {}) }
    const { messages, receipt } = await this.reader.ask('get_messages', args, timeout)
    this.receipt = receipt
    for (const m of messages) report.got.push({ text: m.message, again: Boolean(m.again) })
    return messages.length
  }

  async round(i) {
    const cancellation = this.reader.cancellation()
    try {
      await this.read(20_000, 1_000)
    } catch (error) {
      if (!/timed out|timeout/i.test(error.message)) throw error
      report.gaveUp++
      if (!plan.confirm) await cancellation
    }
    const text = `result ${i} for ${this.name}`
    await this.sender.ask('send_message', { message: text, target: this.name, message_type: 'RESULT' }, patience)
    report.sent.push(text)
    await this.read(plan.waitMs, patience)
  }

  async drain() {
    while (await this.read(0, patience) > 0);
    await this.reader.close()
    await this.sender.close()
  }
}

try {
  const agents = plan.agents.map(() => new Agent())
  await Promise.all(agents.map(async (agent, i) => {
    await agent.open(plan.agents[i])
    for (let r = 0; r < plan.rounds; r++) await agent.round(r)
  }))
  console.log('read')
  await input.next()
  await Promise.all(agents.map((agent) => agent.drain()))
  process.stdout.write(JSON.stringify(report) + '\n', () => process.exit(0))
} catch (error) {
  console.error(error)
  process.exit(1)
}
