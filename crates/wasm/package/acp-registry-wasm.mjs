// Lists and plans the agents of an index in browsers, Electron and Node.js 18. Types: acp-registry-wasm.d.mts.

const MODULE = new URL('acp-registry-wasm.wasm', import.meta.url);

/** Why there is no plan, or no index. `code` is the stable name of the failure. */
export class PlanError extends Error {
  constructor({ message, ...members }) {
    super(message);
    this.name = 'PlanError';
    Object.assign(this, members);
  }
}

/** Compiles the module from its bytes or a response; by default, from the file beside this one. Returns `open`. */
export async function load(source = fetch(MODULE)) {
  const given = await source;
  if (given.ok === false) throw new Error(`${given.url}: ${given.status}`);
  const module = await WebAssembly.compile(given.arrayBuffer ? await given.arrayBuffer() : given);
  return (text) => new Registry(module, text);
}

class Registry {
  #exports;

  constructor(module, text) {
    this.#exports = new WebAssembly.Instance(module).exports;
    const { agents, notes, index } = this.#call('open', text);
    Object.assign(this, { agents, notes, index });
  }

  /** The plan for `ID` or `ID@VERSION`: the document of `acp-registry resolve`, with paths in the unpacked archive. */
  resolve(agent, { platform, ...options }) {
    return this.#call('resolve', JSON.stringify({ agent, platform, ...options }));
  }

  /** For each agent its plan, or the error that says why there is none. */
  plans(platform, options) {
    return this.agents.map(({ id }) => {
      try {
        return { id, plan: this.resolve(id, { ...options, platform }) };
      } catch (error) {
        if (error instanceof PlanError) return { id, error };
        throw error;
      }
    });
  }

  #call(name, text) {
    const { memory, plan_input: input, plan_output: output } = this.#exports;
    const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text;
    const address = input(bytes.length);
    if (address === 0) throw new RangeError(`the index has ${bytes.length} bytes, which is more than an index may have`);
    // The memory moves when it grows: it is looked up each time.
    new Uint8Array(memory.buffer, address, bytes.length).set(bytes);
    const length = this.#exports[`plan_${name}`]();
    const document = JSON.parse(new TextDecoder().decode(new Uint8Array(memory.buffer, output(), length)));
    if (document.error) throw new PlanError(document.error);
    return document;
  }
}
