// Types of acp-registry-wasm.mjs, as schemas/cli/ describes them. Later versions may add members.

export type Kind = 'npx' | 'uvx' | 'binary';

export type Platform =
  | 'darwin-aarch64' | 'darwin-x86_64' | 'linux-aarch64' | 'linux-x86_64' | 'windows-aarch64' | 'windows-x86_64';

export interface Index { source: ''; sha256: string; fetched_at: null; stale: false; }

/** An agent in the index. Nothing is known of installed agents. */
export interface Agent {
  id: string;
  version: string;
  name: string | null;
  description: string | null;
  license: string | null;
  icon: string | null;
  distributions: Kind[];
  platforms: string[];
  available_version: string;
  installed: false;
  installed_version: null;
  pinned: false;
}

/** What would be installed, and how it starts: the document of `acp-registry resolve`. */
export interface Plan {
  schema: 1;
  command: 'resolve';
  id: string;
  version: string;
  distribution: Kind;
  platform: Platform;
  /** The program of an archive, as a path in the unpacked archive; null for packages. */
  program: string | null;
  args: string[];
  env: Record<string, string>;
  installed: false;
  install_dir: '';
  archive: string | null;
  package: string | null;
  sha256: string | null;
  integrity: null;
  verified: 'manifest' | 'npm' | 'pypi' | 'none';
  index_sha256: string;
  index: Index;
}

export interface Options {
  /** The kind of distribution; by default the first that the platform can use: binary, npx, uvx. */
  dist?: Kind;
  /** Whether Node.js and npm are there; by default they are. */
  npm?: boolean;
  /** Whether uv is there; by default it is. */
  uv?: boolean;
}

/** Why there is no plan, or no index: the `error` of a document. */
export class PlanError extends Error {
  code: string;
  exit_code: number;
  help: string | null;
  suggestions: string[];
}

export interface Registry {
  readonly agents: Agent[];
  /** Entries of the index that cannot be used, and why. */
  readonly notes: string[];
  readonly index: Index;
  /** The plan for `ID` or `ID@VERSION`. Throws `PlanError`. */
  resolve(agent: string, options: Options & { platform: Platform }): Plan;
  /** For each agent its plan, or the error that says why there is none. */
  plans(platform: Platform, options?: Options): ({ id: string; plan: Plan } | { id: string; error: PlanError })[];
}

/**
 * Compiles the module from its bytes or a response; by default, from the file beside this one, which Node.js does not fetch.
 * The function that it returns reads the text of an index, of at most 64 MiB, and throws `PlanError`.
 */
export function load(
  source?: BufferSource | Response | Promise<BufferSource | Response>,
): Promise<(index: string | Uint8Array) => Registry>;
