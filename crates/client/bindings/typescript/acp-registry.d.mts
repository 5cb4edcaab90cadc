// Types of acp-registry.mjs, as schemas/cli/ describes them. Later versions may add members.

import type { ChildProcess, SpawnOptions } from 'node:child_process';

export type Kind = 'npx' | 'uvx' | 'binary';

export interface Index { source: string; sha256: string; fetched_at: string | null; stale: boolean; }

export interface Failure {
  code: string;
  exit_code: number;
  message: string;
  help: string | null;
  suggestions: string[];
}

export interface AgentFailure extends Failure { id: string; }

/** How a version of an agent starts, and where its bytes come from. */
export interface Launch {
  id: string;
  version: string;
  distribution: Kind;
  platform: string | null;
  /** Null: known only after the installation. */
  program: string | null;
  args: string[];
  env: Record<string, string>;
  installed: boolean;
  install_dir: string;
  archive: string | null;
  package: string | null;
  sha256: string | null;
  integrity: string | null;
  verified: 'manifest' | 'github' | 'lock' | 'npm' | 'pypi' | 'none';
  index_sha256: string | null;
}

/** An installed version. */
export interface Installed extends Launch {
  program: string;
  /** Directories for the end of `PATH`. */
  path: string[];
  installed_at: string;
  size: number;
  scripts_not_run: string[];
  scripts_ignored_by: string | null;
  answers: boolean | null;
}

/** An agent of the index. Installed agents also have the members of `which`. */
export interface Agent extends Partial<Omit<Installed, 'id' | 'version' | 'installed'>> {
  id: string;
  version: string;
  name: string | null;
  description: string | null;
  license: string | null;
  icon: string | null;
  distributions: Kind[] | null;
  platforms: string[] | null;
  available_version: string | null;
  installed: boolean;
  installed_version: string | null;
  pinned: boolean;
}

export interface Check { name: string; status: 'ok' | 'warning' | 'error'; message: string; help: string | null; }

export interface AuthMethod { id: string; name: string; type: string; type_source: 'type' | 'meta' | 'default'; }

export interface Removed { id: string; version: string; size: number; }

type Document<T> = T & { schema: 1; command: string };
/** The outcome of a handshake. */
export interface Outcome {
  verdict: 'pass' | 'fail' | 'error';
  reason: string | null;
  message: string | null;
  [member: string]: unknown;
}

type Agents = { agents: Agent[]; index: Index | null; notes?: string[] };
type Refresh = { refresh?: boolean };
type Named = { agent: string };

type DoctorAgent = {
  id: string;
  version: string | null;
  status: Check['status'];
  checks: Check[];
  handshake: Outcome | null;
};

/** Parameters and result of each method. */
export interface Methods {
  initialize: [{}, { name: string; version: string; protocol_version: number; methods: string[] }];
  list: [{ installed?: boolean } & Refresh, Agents & { errors?: AgentFailure[] }];
  search: [{ query: string } & Refresh, Agents];
  info: [
    Named & Refresh,
    {
      id: string;
      version: string;
      known_from: 'installed' | 'lock' | 'preview' | 'index' | 'package' | null;
      agent: Record<string, unknown>;
      installed: Pick<Installed, 'version' | 'distribution' | 'verified' | 'install_dir' | 'size'>[];
      pinned: boolean;
      index_sha256: string;
      index: Index;
    },
  ];
  resolve: [Named & { dist?: Kind } & Refresh, Launch & { index: Index }];
  which: [Named, Installed & { pinned: boolean }];
  install: [
    { agents?: string[]; dist?: Kind; lock?: string; locked?: boolean; dry_run?: boolean; no_check?: boolean } & Refresh,
    { agents: (Launch | Installed)[]; errors: AgentFailure[]; index?: Index } & Partial<Installed>,
  ];
  update: [
    { agents?: string[]; dry_run?: boolean; min_age_seconds?: number; unpin?: boolean; no_check?: boolean } & Refresh,
    {
      updates: { id: string; from: string; to: string; distribution: Kind; applied: boolean; installed: Installed | null }[];
      held: { id: string; from: string; to: string; reason: string; until: string | null }[];
      pinned: { id: string; version: string; available: string }[];
      repairs?: string[];
      repaired: string[];
      up_to_date: string[];
      gone: string[];
      errors: AgentFailure[];
      index: Index | null;
    },
  ];
  uninstall: [
    { agents?: string[]; all?: boolean; force?: boolean; dry_run?: boolean },
    { ids: string[]; removed: Removed[]; freed_bytes: number; errors: AgentFailure[] },
  ];
  doctor: [
    { agents?: string[]; fix?: boolean; timeout_seconds?: number },
    { checks: Check[]; agents: DoctorAgent[]; errors?: AgentFailure[] },
  ];
  'login/methods': [Named & { timeout_seconds?: number }, { id: string; methods: AuthMethod[] }];
  login: [
    Named & { method?: string; timeout_seconds?: number },
    {
      id: string;
      status: 'signed_in' | 'unconfirmed' | 'failed';
      reason: string | null;
      message: string;
      help: string | null;
      method: AuthMethod | null;
      variables: { name: string; label: string | null; secret: boolean; optional: boolean; set: boolean }[];
      link: string | null;
      version: string;
      session: string | null;
      stderr_tail: string;
    },
  ];
  logout: [
    Named & { timeout_seconds?: number },
    { id: string; status: 'signed_out' | 'failed'; reason: string | null; message: string; help: string | null },
  ];
}

/** An event of a request in progress. Later versions may add kinds. */
export type Event =
  | { event: 'installing'; id: string; phase: 'started'; version: string }
  | { event: 'installing'; id: string; phase: 'downloading'; received: number; total: number | null }
  | { event: 'installing'; id: string; phase: 'running'; program: string; detail?: string }
  | { event: 'installing'; id: string; phase: 'unpacking' | 'ended' }
  | { event: 'asking'; planned: number; answered: number }
  | { event: 'note' | 'text'; message: string }
  | { event: 'warning'; message: string; help?: string | null }
  | ({ event: 'error' } & Partial<AgentFailure> & { message: string });

export class RpcError extends Error {
  /** The number of JSON-RPC; -32800 if the request was cancelled. */
  code: number;
  data: Omit<Failure, 'message'> & { parameter?: string; result?: Record<string, unknown> };
}

export interface Options { program?: string; args?: string[]; env?: NodeJS.ProcessEnv; cwd?: string; }

export class Registry {
  constructor(options?: Options);
  request<M extends keyof Methods>(
    method: M,
    params?: Methods[M][0],
    options?: { onEvent?: (event: Event) => void; signal?: AbortSignal },
  ): Promise<Document<Methods[M][1]>>;
  close(): Promise<void>;
}

export function launch(
  agent: { program: string | null; args: string[]; env: Record<string, string> },
  options?: SpawnOptions,
): ChildProcess;
