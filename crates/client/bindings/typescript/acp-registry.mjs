// Client of `acp-registry rpc` for Node.js 18 and later, without dependencies. Types: acp-registry.d.mts.
import { spawn } from 'node:child_process';
import { delimiter } from 'node:path';
import { createInterface } from 'node:readline';

/** A request that failed. `data.code` is the stable name of the failure. */
export class RpcError extends Error {
  constructor({ message, code, data }) {
    super(message);
    this.name = 'RpcError';
    this.code = code;
    this.data = data;
  }
}

/** A running `acp-registry rpc`. */
export class Registry {
  #child;
  #ended;
  #why = null;
  #calls = new Map();
  #last = 0;

  constructor({ program = 'acp-registry', args = [], env = process.env, cwd } = {}) {
    this.#child = spawn(program, ['rpc', ...args], { stdio: ['pipe', 'pipe', 'inherit'], env, cwd, windowsHide: true });
    this.#ended = new Promise((resolve) => {
      const end = (why) => {
        this.#why = new Error(why);
        for (const { reject } of this.#calls.values()) reject(this.#why);
        this.#calls.clear();
        resolve();
      };
      this.#child.on('error', (error) => end(`acp-registry cannot be started: ${error.message}`));
      this.#child.on('close', (code, signal) => end(`acp-registry has ended (${signal ?? `exit code ${code}`})`));
    });
    // The end of the process says more than a write to its closed stdin.
    this.#child.stdin.on('error', () => {});
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.#receive(JSON.parse(line)));
  }

  /** Sends a request. `onEvent` gets its progress; what it throws cancels the request, and so does `signal`. */
  request(method, params = {}, { onEvent = () => {}, signal } = {}) {
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      if (this.#why) throw this.#why;
      const cancel = () => this.#send({ method: '$/cancel_request', params: { requestId: id } });
      signal?.addEventListener('abort', cancel, { once: true });
      const settled = (settle) => (value) => {
        signal?.removeEventListener('abort', cancel);
        settle(value);
      };
      this.#calls.set(id, { resolve: settled(resolve), reject: settled(reject), onEvent });
      this.#send({ id, method, params });
    });
  }

  /** Lets requests that only read finish, cancels all others, and ends the process. */
  close() {
    this.#child.stdin.end();
    return this.#ended;
  }

  #send(message) {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  #receive({ id, method, params, result, error }) {
    if (method === '$/progress') {
      const call = this.#calls.get(params.requestId);
      try { call?.onEvent(params.event); } catch (thrown) {
        this.#calls.delete(params.requestId);
        this.#send({ method: '$/cancel_request', params: { requestId: params.requestId } });
        call.reject(thrown);
      }
      return;
    }
    // An answer without an id is to a line that could not be read, which may have been any request.
    for (const answered of id === null ? [...this.#calls.keys()] : [id]) {
      const call = this.#calls.get(answered);
      this.#calls.delete(answered);
      if (error) call?.reject(new RpcError(error));
      else call?.resolve(result);
    }
  }
}

/** Starts an installed agent, which speaks the Agent Client Protocol on stdin and stdout. */
export function launch({ program, args, env, path = [] }, options = {}) {
  const variables = { ...env, ...process.env };
  if (process.env.PATH) variables.PATH = [process.env.PATH, ...path].join(delimiter);
  return spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'], env: variables, ...options });
}
