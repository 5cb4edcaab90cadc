// Checked by the compiler of TypeScript in tests/it/bindings.rs; never run.
import { type Event, Registry, RpcError, launch } from './acp-registry.mjs';

const registry = new Registry({ args: ['--offline'] });
const onEvent = (event: Event) => {
  if (event.event === 'installing' && event.phase === 'downloading') console.log(event.received / (event.total ?? 1));
};
const { agents } = await registry.request('list', { installed: true });
export const name: string | null = agents[0]!.name;
export const started: string | null | undefined = agents[0]!.program;
export const place: string = (await registry.request('info', { agent: 'x' })).installed_versions[0]!.install_dir;
export const notes: string[] | undefined = (await registry.request('search', { query: 'x' })).notes;
const done = await registry.request('install', { agents: ['x'] }, { onEvent, signal: AbortSignal.timeout(1) });
launch(done.agents[0]!).stdin?.write('');
export const program: string = (await registry.request('which', { agent: 'x' })).program;
try {
  const { session, error } = await registry.request('login', { agent: 'x' });
  console.log(session, error?.code);
  console.log((await registry.request('login/methods', { agent: 'x' })).methods.length);
} catch (error) {
  if (error instanceof RpcError) console.log(error.code, error.data.code);
}
// @ts-expect-error There is no such method.
await registry.request('lst');
// @ts-expect-error A parameter is missing.
await registry.request('info', {});
// @ts-expect-error There is no such parameter.
await registry.request('list', { instaled: true });
