// The client of `acp-registry rpc`, with the program of this machine's platform.
import { Registry as Client } from './acp-registry.mjs';
import { find } from './program.js';

export { RpcError, launch } from './acp-registry.mjs';

export class Registry extends Client {
  constructor(options = {}) {
    super({ ...options, program: options.program ?? find() });
  }
}
