// The TypeScript SDKs, by the era of MCP that they speak: load('legacy') is that of 2025-11-25, load('modern') that of
// 2026-07-28.
const eras = {
  async legacy() {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js')
    const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js')
    return {
      Client, StreamableHTTPClientTransport, options: {},
      call: (client, params, options) => client.callTool(params, undefined, options),
      // Whether an error of a call means that the SDK has given the call up.
      gaveUp: (error) => error.code === -32001,
    }
  },
  async modern() {
    const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
    return {
      Client, StreamableHTTPClientTransport, options: { versionNegotiation: { mode: { pin: '2026-07-28' } } },
      call: (client, params, options) => client.callTool(params, options),
      gaveUp: (error) => error.code === 'REQUEST_TIMEOUT',
    }
  },
}

export const load = (era) => eras[era]()
