// Run by tests/it/bindings.rs: `fake` can be installed, and the archive of `slow` never ends.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Registry, RpcError } from './acp-registry.mjs';

const args = process.env.RPC_FLAGS.split(' ');
const registry = new Registry({ args });
after(() => registry.close());

test('a failed request has the code and the suggestions of the command', async () => {
  const is = (error) => error instanceof RpcError && error.code === -32002 && error.data.suggestions[0] === 'fake';
  await assert.rejects(registry.request('info', { agent: 'fakee' }), is);
});

test('requests run at the same time, and one can be cancelled', async () => {
  const controller = new AbortController();
  const { signal } = controller;
  let failed;
  await new Promise((downloading) => {
    const onEvent = (event) => event.phase === 'downloading' && downloading();
    failed = assert.rejects(registry.request('install', { agents: ['slow'] }, { onEvent, signal }), { code: -32800 });
  });
  assert.equal((await registry.request('list')).agents.length, 2);
  controller.abort();
  await failed;
  await assert.rejects(registry.request('list', {}, { signal }), { name: 'AbortError' });
});

test('what a listener throws fails its own request only', async () => {
  const onEvent = (event) => { if (event.phase === 'downloading') throw new TypeError('a bug of the host'); };
  await assert.rejects(registry.request('install', { agents: ['slow'] }, { onEvent }), TypeError);
  assert.equal((await registry.request('list')).agents.length, 2);
});

test('an answer without an id fails the requests that wait for one', async () => {
  const other = new Registry({ program: process.env.RPC_NAMELESS });
  await assert.rejects(other.request('list'), { name: 'RpcError', code: -32700 });
  await other.close();
});

test('a program that is missing or ends is an error of its requests', async () => {
  await assert.rejects(new Registry({ program: 'no-such-program' }).request('list'), /cannot be started/);
  const other = new Registry({ args: ['--no-such-flag'] });
  await assert.rejects(other.request('list'), /has ended \(exit code 2\)/);
  await assert.rejects(other.request('list'), /has ended/);
});
