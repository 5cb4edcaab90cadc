// Lists the agents, installs the named one, starts it, and prints what it answers: node example.mjs ID
import { createInterface } from 'node:readline';
import { Registry, launch } from './acp-registry.mjs';

const registry = new Registry({ args: process.argv.slice(3) });
const { agents } = await registry.request('list');
console.log(agents.map((agent) => `${agent.id} ${agent.version}`).join(', '));

const onEvent = (event) => console.log(event.event, event.phase ?? event.message, event.received ?? '');
const installed = await registry.request('install', { agents: [process.argv[2]] }, { onEvent });
await registry.close();

const agent = launch(installed.agents[0]);
const params = { protocolVersion: 1, clientCapabilities: {} };
agent.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params })}\n`);
for await (const line of createInterface({ input: agent.stdout })) {
  console.log('answers', line);
  break;
}
agent.stdin.end();
agent.kill();
