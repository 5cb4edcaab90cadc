// Lists the agents of an index, and plans each for a platform: node example.mjs INDEX PLATFORM
import { readFile } from 'node:fs/promises';
import { load } from './acp-registry-wasm.mjs';

const [index, platform] = process.argv.slice(2);
// In a browser: `const open = await load();`
const open = await load(readFile(new URL('acp-registry-wasm.wasm', import.meta.url)));
const registry = open(await readFile(index));
for (const { id, name } of registry.agents) console.log(id, name ?? '');
for (const note of registry.notes) console.log('note:', note);

for (const { id, plan, error } of registry.plans(platform)) {
  if (error) console.log(`${id}: ${error.message} (${error.code})`);
  else console.log(`${id} ${plan.version}: ${plan.archive ?? `${plan.distribution} ${plan.package}`}`, ...plan.args);
}
