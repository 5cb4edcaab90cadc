// Types of acp-registry.mjs, with @types/node. Later versions may add members.
/// <reference types="node" />

import type { ChildProcessByStdio, SpawnOptions } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';

export class RpcError extends Error {
  /** The number of JSON-RPC; -32800 if the request was cancelled. */
  code: number;
  data: ErrorData;
}

export interface Options { program?: string; args?: string[]; env?: NodeJS.ProcessEnv; cwd?: string; }

export class Registry {
  constructor(options?: Options);
  request<M extends keyof Methods>(
    method: M,
    params?: Methods[M][0],
    options?: { onEvent?: (event: Event) => void; signal?: AbortSignal },
  ): Promise<Methods[M][1]>;
  close(): Promise<void>;
}

export function launch(
  agent: { program?: string | null; args?: string[]; env?: Record<string, string>; path?: string[] },
  options?: Omit<SpawnOptions, 'stdio'>,
): ChildProcessByStdio<Writable, Readable, null>;

// Generated from schemas/cli/ by generate_types.py.

/** Parameters and result of each method. */
export interface Methods {
  initialize: [InitializeParams, InitializeDocument];
  list: [ListParams, ListDocument];
  search: [SearchParams, SearchDocument];
  info: [InfoParams, InfoDocument];
  resolve: [ResolveParams, ResolveDocument];
  which: [WhichParams, WhichDocument];
  install: [InstallParams, InstallDocument];
  update: [UpdateParams, UpdateDocument];
  uninstall: [UninstallParams, UninstallDocument];
  doctor: [DoctorParams, DoctorDocument];
  'login/methods': [LoginMethodsParams, LoginMethodsDocument];
  login: [LoginParams, LoginDocument];
  logout: [LogoutParams, LogoutDocument];
}

/** A kind of distribution. */
export type Kind = 'npx' | 'uvx' | 'binary';
/** How the bytes were, or would be, verified: against the digest in the manifest, the one that GitHub states, a lock file, or by npm or the Python package index; `none`: nothing states a digest, or only a weak one, or not one of every package. */
export type Verified = 'manifest' | 'github' | 'lock' | 'npm' | 'pypi' | 'none';
/** What kind of failure it is. A code never changes its meaning; later versions may add codes. */
export type Code =
  | 'findings'
  | 'usage'
  | 'unknown_agent'
  | 'unknown_version'
  | 'unknown_rule'
  | 'not_installed'
  | 'unsupported_platform'
  | 'unsupported_distribution'
  | 'invalid_configuration'
  | 'invalid_registry'
  | 'index_unavailable'
  | 'invalid_index'
  | 'offline'
  | 'missing_runtime'
  | 'package_not_found'
  | 'held_by_cooldown'
  | 'install_failed'
  | 'cmd_not_found'
  | 'locked'
  | 'damaged'
  | 'running'
  | 'failed'
  | 'digest_mismatch'
  | 'unsafe_archive'
  | 'changed'
  | 'lock_mismatch'
  | 'revoked'
  | 'unsigned'
  | 'signature_invalid'
  | 'statement_expired'
  | 'statement_older'
  | 'provenance_missing'
  | 'provenance_mismatch'
  | 'provenance_weaker'
  | 'publisher_changed'
  | 'refused'
  | 'interrupted';
export type Event =
  | InstallingStartedEvent
  | InstallingDownloadingEvent
  | InstallingUnpackingEvent
  | InstallingRunningEvent
  | InstallingEndedEvent
  | CheckingEvent
  | AskingEvent
  | SendingEvent
  | NoteEvent
  | WarningEvent
  | TextEvent
  | ErrorEvent;

/** The parameters, by name. May be absent. */
export interface InitializeParams {}
/** Which program this is. */
export interface InitializeDocument {
  /** Version of this form. */
  schema: 1;
  /** The method. */
  command: 'initialize';
  /** The name of the program. */
  name: 'acp-registry';
  /** Its version. */
  version: string;
  /** The version of methods, parameters and results; another one breaks clients. */
  protocol_version: number;
  /** The methods. */
  methods: string[];
}
/** The parameters, by name. May be absent. */
export interface ListParams {
  /** Lists the installed agents. Without it, false. */
  installed?: boolean | null;
  /** Asks for the index even if the copy is fresh. Without it, false. */
  refresh?: boolean | null;
}
/** The index that the document is made from. */
export interface Index {
  /** Its address or path. */
  source: string;
  /** SHA-256 of its bytes. */
  sha256: string;
  /** When its host sent or last confirmed it; for a file, when it last changed. RFC 3339. */
  fetched_at: string | null;
  /** Whether it is a copy past its time, because it could not be fetched anew, or `--offline` forbids that. */
  stale: boolean;
  signed?: IndexSigned;
}
/** Who has signed it; absent where the registry signs nothing. */
export interface IndexSigned {
  /** The public key, in the form of minisign. */
  signer: string;
  /** The number of the statement, which only grows. */
  sequence: number;
  /** Until when the statement is valid. RFC 3339. */
  expires_at: string;
}
/** Who has built it, as a checked attestation says; absent where that was not required. */
export interface Provenance {
  publisher: ProvenancePublisher;
  /** Whether public logs have recorded certificate and attestation. */
  logged: boolean;
  /** Whether the host of the repository has run the workflow. */
  hosted: boolean;
}
/** The workflow that has built it. */
export interface ProvenancePublisher {
  /** The service that has identified the workflow. */
  issuer: string;
  /** The address of the repository that it was built from. */
  repository: string;
  /** The number of that repository at its host. */
  repository_id?: string;
  /** The address of the workflow, without its revision. */
  workflow: string;
}
/** A version that the maintainers of the registry hold. */
export interface Held {
  /** The version that is held. */
  version: string;
  /** The last day, in UTC; null where there is none. */
  until: string | null;
  /** Why, in the words of the maintainers. */
  reason: string;
}
/** What the registry says of a version that it has recalled. */
export interface Revocation {
  /** A `revoked` version is not started; a `deprecated` one is, with a warning. */
  level: 'revoked' | 'deprecated';
  /** Why the version was recalled. */
  reason: string;
  /** When it was recalled, as the registry has written it: a day, or a time. */
  since: string | null;
}
/** Why a command failed for one agent. */
export interface AgentFailure {
  /** The agent. */
  id: string;
  code: Code;
  /** The exit code of the program, or the one that this failure alone would give. */
  exit_code: number;
  /** What failed, where and why, as a sentence. */
  message: string;
  /** One thing to do about it. */
  help: string | null;
  /** What could be named instead: the names that were probably meant, the nearest first; the methods or versions that there are; for `held_by_cooldown`, the newest version that is allowed. */
  suggestions: string[];
}
/** Why a command failed. */
export interface Failure {
  code: Code;
  /** The exit code of the program, or the one that this failure alone would give. */
  exit_code: number;
  /** What failed, where and why, as a sentence. */
  message: string;
  /** One thing to do about it. */
  help: string | null;
  /** What could be named instead: the names that were probably meant, the nearest first; the methods or versions that there are; for `held_by_cooldown`, the newest version that is allowed. */
  suggestions: string[];
}
/** The agents of an index, or with `--installed` those that are installed. */
export interface ListDocument {
  /** Version of this form. */
  schema: 1;
  /** The command. */
  command: 'list';
  /** The index; null with `--installed` where none can be read. */
  index: Index | null;
  /** SHA-256 of the index; absent with `--installed`. */
  index_sha256?: string;
  /** The agents, in the order of the index; with `--installed`, by id, and an item also has the members of `which`. */
  agents: ListAgent[];
  /** What the reader should know about the index; absent with `--installed`. */
  notes?: string[];
  /** With `--installed`, agents that cannot be read; the exit code stays 0. Absent otherwise. */
  errors?: AgentFailure[];
}
/** An agent. Null: the index does not state it, or there is no index. */
export interface ListAgent {
  /** The agent. */
  id: string;
  /** The version in the index; with `--installed`, the installed version. */
  version: string;
  distribution?: Kind;
  /** The platform that it is for, such as `linux-x86_64`; null where that is not known. */
  platform?: string | null;
  /** Absolute path of the program to start; null where only the installation will show it, or what starts the agent is not there yet. */
  program?: string | null;
  /** The arguments of the program. */
  args?: string[];
  /** Variables that the manifest sets for the agent. */
  env?: {
    [k: string]: string;
  };
  /** Whether it is installed. */
  installed: boolean;
  /** The directory that holds, or would hold, this version. Absolute. */
  install_dir?: string;
  /** Address of the archive; null for packages. */
  archive?: string | null;
  /** The package with its version; null for archives. */
  package?: string | null;
  /** SHA-256 of the archive, where it is known. */
  sha256?: string | null;
  /** What the package manager states of the package's bytes, in its own form. */
  integrity?: string | null;
  verified?: Verified;
  /** SHA-256 of the index that the version was taken from. */
  index_sha256?: string | null;
  /** Directories to append to the agent's `PATH`, as `run` does: those of its runtime, of programs that came with it, and those that a start without a shell lacks. */
  path?: string[];
  /** When it was installed. RFC 3339. */
  installed_at?: string | null;
  /** Bytes of its files. */
  size?: number;
  /** Packages whose install scripts npm has not run. */
  scripts_not_run?: string[];
  /** What forbade npm to run them: its setting `ignore-scripts` or the variable `npm_config_ignore_scripts`; `registry`: the registry has not approved them; null: nothing did. */
  scripts_ignored_by?: string | null;
  /** Whether the agent answered `initialize` when it was installed; null: it was not asked. */
  answers?: boolean | null;
  provenance?: Provenance;
  /** Its name. */
  name: string | null;
  /** What it is, in its publisher's words. */
  description: string | null;
  /** Its licence. */
  license: string | null;
  /** Address of its icon. */
  icon: string | null;
  /** The kinds of distributions that the index has. */
  distributions: Kind[] | null;
  /** The platforms that the index has archives for. */
  platforms: string[] | null;
  /** The version in the index. */
  available_version: string | null;
  /** The version that is installed. */
  installed_version: string | null;
  /** Whether it stays at its version. */
  pinned: boolean;
  held?: Held;
  revocation?: Revocation;
}
/** The parameters, by name. */
export interface SearchParams {
  /** Words, as for the command `search`. */
  query: string;
  /** Asks for the index even if the copy is fresh. Without it, false. */
  refresh?: boolean | null;
}
/** The agents that match. */
export interface SearchDocument {
  /** Version of this form. */
  schema: 1;
  /** The command. */
  command: 'search';
  index: Index;
  /** SHA-256 of the index. */
  index_sha256: string;
  /** The agents, best first. */
  agents: SearchAgent[];
  /** What the reader should know about the index. */
  notes: string[];
}
/** An agent. Null: the index does not state it. */
export interface SearchAgent {
  /** The agent. */
  id: string;
  /** The version in the index. */
  version: string;
  /** Its name. */
  name: string | null;
  /** What it is, in its publisher's words. */
  description: string | null;
  /** Its licence. */
  license: string | null;
  /** Address of its icon. */
  icon: string | null;
  /** The kinds of distributions that the index has. */
  distributions: Kind[] | null;
  /** The platforms that the index has archives for. */
  platforms: string[] | null;
  /** The version in the index. */
  available_version: string | null;
  /** Whether it is installed. */
  installed: boolean;
  /** The version that is installed. */
  installed_version: string | null;
  /** Whether it stays at its version. */
  pinned: boolean;
  held?: Held;
}
/** The parameters, by name. */
export interface InfoParams {
  /** The agent: `ID` or `ID@VERSION`, such as `gemini`. */
  agent: string;
  /** Asks for the index even if the copy is fresh. Without it, false. */
  refresh?: boolean | null;
  /** Lists all versions that the registry has had. Without it, false. */
  versions?: boolean | null;
  /** A working directory, relative to that of this program if it is not absolute: lists what `run --sandbox` lets the installed agent touch from there. */
  permissions?: string | null;
}
/** What the index says of an agent, and what of it is installed. */
export interface InfoDocument {
  /** Version of this form. */
  schema: 1;
  /** The command. */
  command: 'info';
  /** The agent. */
  id: string;
  /** The version that the document is about. */
  version: string;
  /** Where a named version is known from; null when none was named. */
  known_from: 'installed' | 'lock' | 'preview' | 'index' | 'history' | 'package' | null;
  /** The entry in the index, as published. */
  agent: {
    [k: string]: unknown;
  };
  /** Whether it is installed; of a named version, whether that one is. */
  installed: boolean;
  /** Its installed versions; of a named version, the installations of that one. */
  installed_versions: InfoInstalledVersion[];
  /** Whether the agent stays at its version. */
  pinned: boolean;
  held?: Held;
  permissions?: InfoPermissions;
  /** SHA-256 of the index. */
  index_sha256: string;
  /** The versions that the registry has and has had, the newest first; with `--versions`. */
  versions?: InfoVersion[];
  index: Index;
}
export interface InfoInstalledVersion {
  /** The version. */
  version: string;
  distribution: Kind;
  verified: Verified;
  /** The directory that holds it. Absolute. */
  install_dir: string;
  /** Bytes of its files. */
  size: number;
  /** When it was installed. RFC 3339. */
  installed_at: string | null;
  /** Whether it is the version that is started. */
  current: boolean;
  revocation?: Revocation;
}
/** What the installed agent may touch in `run --sandbox` from the working directory; with `--permissions`. */
export interface InfoPermissions {
  /** Absolute paths that it may read, execute and change, directories with all below them. Its own home may not exist yet. */
  writes: string[];
  /** Absolute paths that it may only read and execute, directories with all below them. */
  reads: string[];
  /** `shared`: the machine's network, which `run --network none` takes away. */
  network: 'shared' | 'none';
  /** Variables that lead to its own home. */
  variables: {
    [k: string]: string;
  };
  /** Variables of the person that it does not see. */
  hidden_variables: string[];
  /** Why this system refuses `run --sandbox`; null where it does not. */
  obstacle: string | null;
}
export interface InfoVersion {
  /** The version. */
  version: string;
  /** When it came into the registry, if that is known. RFC 3339. Null also for the version in the index. */
  since: string | null;
  /** Whether it is installed. */
  installed: boolean;
}
/** The parameters, by name. */
export interface ResolveParams {
  /** The agent: `ID` or `ID@VERSION`, such as `gemini`. */
  agent: string;
  /** The kind of distribution; without it, the first that this machine can run. */
  dist?: 'npx' | 'uvx' | 'binary' | null;
  /** Asks for the index even if the copy is fresh. Without it, false. */
  refresh?: boolean | null;
}
/** What would be installed, and how it is started. */
export interface ResolveDocument {
  /** The agent. */
  id: string;
  /** Its version. */
  version: string;
  distribution: Kind;
  /** The platform that it is for, such as `linux-x86_64`; null where that is not known. */
  platform: string | null;
  /** Absolute path of the program to start; null where only the installation will show it, or what starts the agent is not there yet. */
  program: string | null;
  /** The arguments of the program. */
  args: string[];
  /** Variables that the manifest sets for the agent. */
  env: {
    [k: string]: string;
  };
  /** Whether this version is installed. */
  installed: boolean;
  /** The directory that holds, or would hold, this version. Absolute. */
  install_dir: string;
  /** Address of the archive; null for packages. */
  archive: string | null;
  /** The package with its version; null for archives. */
  package: string | null;
  /** SHA-256 of the archive, where it is known. */
  sha256: string | null;
  /** What the package manager states of the package's bytes, in its own form. */
  integrity: string | null;
  verified: Verified;
  /** SHA-256 of the index that the version was taken from. */
  index_sha256: string | null;
  /** Directories to append to the agent's `PATH`, as `run` does: those of its runtime, of programs that came with it, and those that a start without a shell lacks. */
  path?: string[];
  /** When it was installed. RFC 3339. */
  installed_at?: string | null;
  /** Bytes of its files. */
  size?: number;
  /** Packages whose install scripts npm has not run. */
  scripts_not_run?: string[];
  /** What forbade npm to run them: its setting `ignore-scripts` or the variable `npm_config_ignore_scripts`; `registry`: the registry has not approved them; null: nothing did. */
  scripts_ignored_by?: string | null;
  /** Whether the agent answered `initialize` when it was installed; null: it was not asked. */
  answers?: boolean | null;
  provenance?: Provenance;
  /** Version of this form. */
  schema: 1;
  /** The command. */
  command: 'resolve';
  index: Index;
}
/** The parameters, by name. */
export interface WhichParams {
  /** The agent: `ID` or `ID@VERSION`, such as `gemini`. */
  agent: string;
}
/** How an installed agent is started. */
export interface WhichDocument {
  /** The agent. */
  id: string;
  /** Its version. */
  version: string;
  distribution: Kind;
  /** The platform that it is for, such as `linux-x86_64`; null where that is not known. */
  platform: string | null;
  /** Absolute path of the program to start. */
  program: string;
  /** The arguments of the program. */
  args: string[];
  /** Variables that the manifest sets for the agent. */
  env: {
    [k: string]: string;
  };
  /** Whether this version is installed. */
  installed: boolean;
  /** The directory that holds, or would hold, this version. Absolute. */
  install_dir: string;
  /** Address of the archive; null for packages. */
  archive: string | null;
  /** The package with its version; null for archives. */
  package: string | null;
  /** SHA-256 of the archive, where it is known. */
  sha256: string | null;
  /** What the package manager states of the package's bytes, in its own form. */
  integrity: string | null;
  verified: Verified;
  /** SHA-256 of the index that the version was taken from. */
  index_sha256: string | null;
  /** Directories to append to the agent's `PATH`, as `run` does: those of its runtime, of programs that came with it, and those that a start without a shell lacks. */
  path: string[];
  /** When it was installed. RFC 3339. */
  installed_at: string | null;
  /** Bytes of its files. */
  size: number;
  /** Packages whose install scripts npm has not run. */
  scripts_not_run: string[];
  /** What forbade npm to run them: its setting `ignore-scripts` or the variable `npm_config_ignore_scripts`; `registry`: the registry has not approved them; null: nothing did. */
  scripts_ignored_by?: string | null;
  /** Whether the agent answered `initialize` when it was installed; null: it was not asked. */
  answers: boolean | null;
  provenance?: Provenance;
  /** Version of this form. */
  schema: 1;
  /** The command. */
  command: 'which';
  /** Whether the agent stays at its version. */
  pinned: boolean;
}
/** The parameters, by name. May be absent. */
export interface InstallParams {
  /** The agents; with `locked`, all of the lock file if there are none. */
  agents?: string[] | null;
  /** The kind of distribution; without it, the first that this machine can run. */
  dist?: 'npx' | 'uvx' | 'binary' | null;
  /** The path of a lock file to write, or to read with `locked`; relative to the working directory of this program. Without it, none is written, and with `locked` `acp-registry.lock` is read. */
  lock?: string | null;
  /** Installs exactly what the lock file records. Without it, false. */
  locked?: boolean | null;
  /** Changes nothing, and says what would be installed. Without it, false. */
  dry_run?: boolean | null;
  /** Does not start the agents to see whether they answer. Without it, false. */
  no_check?: boolean | null;
  /** What must be proven of the bytes: that they have a stated digest, or that a workflow of the manifest's repository has built them. Without it, `none`. */
  require?: 'none' | 'digest' | 'attested' | null;
  /** Agrees to other publishers than before, to weaker proofs, and to none. Without it, false. */
  accept_publisher?: boolean | null;
  /** Asks for the index even if the copy is fresh. Without it, false. */
  refresh?: boolean | null;
}
/** The agents that were installed. For a single agent, its members also stand in the document itself. */
export interface InstallDocument {
  /** The agent. */
  id?: string;
  /** Its version. */
  version?: string;
  distribution?: Kind;
  /** The platform that it is for, such as `linux-x86_64`; null where that is not known. */
  platform?: string | null;
  /** Absolute path of the program to start; null where only the installation will show it, or what starts the agent is not there yet. */
  program?: string | null;
  /** The arguments of the program. */
  args?: string[];
  /** Variables that the manifest sets for the agent. */
  env?: {
    [k: string]: string;
  };
  /** Whether this version is installed. */
  installed?: boolean;
  /** The directory that holds, or would hold, this version. Absolute. */
  install_dir?: string;
  /** Address of the archive; null for packages. */
  archive?: string | null;
  /** The package with its version; null for archives. */
  package?: string | null;
  /** SHA-256 of the archive, where it is known. */
  sha256?: string | null;
  /** What the package manager states of the package's bytes, in its own form. */
  integrity?: string | null;
  verified?: Verified;
  /** SHA-256 of the index that the version was taken from. */
  index_sha256?: string | null;
  /** Directories to append to the agent's `PATH`, as `run` does: those of its runtime, of programs that came with it, and those that a start without a shell lacks. */
  path?: string[];
  /** When it was installed. RFC 3339. */
  installed_at?: string | null;
  /** Bytes of its files. */
  size?: number;
  /** Packages whose install scripts npm has not run. */
  scripts_not_run?: string[];
  /** What forbade npm to run them: its setting `ignore-scripts` or the variable `npm_config_ignore_scripts`; `registry`: the registry has not approved them; null: nothing did. */
  scripts_ignored_by?: string | null;
  /** Whether the agent answered `initialize` when it was installed; null: it was not asked. */
  answers?: boolean | null;
  provenance?: Provenance;
  /** Version of this form. */
  schema: 1;
  /** The command. */
  command: 'install';
  /** True where nothing was installed, and `agents` says what would be; absent otherwise. */
  dry_run?: true;
  /** The agents that were installed. Members that only an installation gives are absent in a dry run. */
  agents: InstallAgent[];
  /** Agents for which the command failed. */
  errors: AgentFailure[];
  index?: Index;
}
/** How an agent is started, and what is known of the bytes that were or would be installed. Members that only an installation shows are absent before it. */
export interface InstallAgent {
  /** The agent. */
  id: string;
  /** Its version. */
  version: string;
  distribution: Kind;
  /** The platform that it is for, such as `linux-x86_64`; null where that is not known. */
  platform: string | null;
  /** Absolute path of the program to start; null where only the installation will show it, or what starts the agent is not there yet. */
  program: string | null;
  /** The arguments of the program. */
  args: string[];
  /** Variables that the manifest sets for the agent. */
  env: {
    [k: string]: string;
  };
  /** Whether this version is installed. */
  installed: boolean;
  /** The directory that holds, or would hold, this version. Absolute. */
  install_dir: string;
  /** Address of the archive; null for packages. */
  archive: string | null;
  /** The package with its version; null for archives. */
  package: string | null;
  /** SHA-256 of the archive, where it is known. */
  sha256: string | null;
  /** What the package manager states of the package's bytes, in its own form. */
  integrity: string | null;
  verified: Verified;
  /** SHA-256 of the index that the version was taken from. */
  index_sha256: string | null;
  /** Directories to append to the agent's `PATH`, as `run` does: those of its runtime, of programs that came with it, and those that a start without a shell lacks. */
  path?: string[];
  /** When it was installed. RFC 3339. */
  installed_at?: string | null;
  /** Bytes of its files. */
  size?: number;
  /** Packages whose install scripts npm has not run. */
  scripts_not_run?: string[];
  /** What forbade npm to run them: its setting `ignore-scripts` or the variable `npm_config_ignore_scripts`; `registry`: the registry has not approved them; null: nothing did. */
  scripts_ignored_by?: string | null;
  /** Whether the agent answered `initialize` when it was installed; null: it was not asked. */
  answers?: boolean | null;
  provenance?: Provenance;
}
/** The parameters, by name. May be absent. */
export interface UpdateParams {
  /** The agents; without any, all that are installed. */
  agents?: string[] | null;
  /** The version that the one named agent is brought to and stays at, which may be older. */
  to?: string | null;
  /** Changes nothing, and says which updates there are. Without it, false. */
  dry_run?: boolean | null;
  /** Holds back versions that are younger than this many seconds: they are in `held`. Without it, none. */
  min_age_seconds?: number | null;
  /** Updates agents that stay at a version, too. Without it, false. */
  unpin?: boolean | null;
  /** Does not start the agents to see whether they answer. Without it, false. */
  no_check?: boolean | null;
  /** What must be proven of the bytes: that they have a stated digest, or that a workflow of the manifest's repository has built them. Without it, `none`. */
  require?: 'none' | 'digest' | 'attested' | null;
  /** Agrees to other publishers than before, to weaker proofs, and to none. Without it, false. */
  accept_publisher?: boolean | null;
  /** Asks for the index even if the copy is fresh. Without it, false. */
  refresh?: boolean | null;
}
/** Newer versions of installed agents. */
export interface UpdateDocument {
  /** Version of this form. */
  schema: 1;
  /** The command. */
  command: 'update';
  /** Agents with a newer version. */
  updates: UpdateUpdate[];
  /** Updates that wait: for `--min-age`, for a cooldown of npm or uv, for a version that is not revoked, or to be named, where the agent is from another registry. */
  held: UpdateHeld[];
  /** Agents that stay at their version. */
  pinned: UpdatePinned[];
  /** Agents that need a repair, which a dry run does not make; absent if there are none. */
  repairs?: string[];
  /** Agents that were repaired without a change of version. */
  repaired: string[];
  /** Agents with nothing newer. */
  up_to_date: string[];
  /** Agents that the index has no more. */
  gone: string[];
  /** Agents for which the command failed. */
  errors: AgentFailure[];
  /** The index; null where nothing is installed and none is at hand. */
  index: Index | null;
}
export interface UpdateUpdate {
  /** The agent. */
  id: string;
  /** The installed version. */
  from: string;
  /** The newer version, or the one that `--to` names. */
  to: string;
  distribution: Kind;
  /** Whether it was installed. */
  applied: boolean;
  /** How the new version starts; null when it was not installed. */
  launch: UpdateUpdateLaunch | null;
}
/** How an agent is started, and what is known of the bytes that were or would be installed. Members that only an installation shows are absent before it. */
export interface UpdateUpdateLaunch {
  /** The agent. */
  id: string;
  /** Its version. */
  version: string;
  distribution: Kind;
  /** The platform that it is for, such as `linux-x86_64`; null where that is not known. */
  platform: string | null;
  /** Absolute path of the program to start; null where only the installation will show it, or what starts the agent is not there yet. */
  program: string | null;
  /** The arguments of the program. */
  args: string[];
  /** Variables that the manifest sets for the agent. */
  env: {
    [k: string]: string;
  };
  /** Whether this version is installed. */
  installed: boolean;
  /** The directory that holds, or would hold, this version. Absolute. */
  install_dir: string;
  /** Address of the archive; null for packages. */
  archive: string | null;
  /** The package with its version; null for archives. */
  package: string | null;
  /** SHA-256 of the archive, where it is known. */
  sha256: string | null;
  /** What the package manager states of the package's bytes, in its own form. */
  integrity: string | null;
  verified: Verified;
  /** SHA-256 of the index that the version was taken from. */
  index_sha256: string | null;
  /** Directories to append to the agent's `PATH`, as `run` does: those of its runtime, of programs that came with it, and those that a start without a shell lacks. */
  path: string[];
  /** When it was installed. RFC 3339. */
  installed_at: string | null;
  /** Bytes of its files. */
  size: number;
  /** Packages whose install scripts npm has not run. */
  scripts_not_run: string[];
  /** What forbade npm to run them: its setting `ignore-scripts` or the variable `npm_config_ignore_scripts`; `registry`: the registry has not approved them; null: nothing did. */
  scripts_ignored_by?: string | null;
  /** Whether the agent answered `initialize` when it was installed; null: it was not asked. */
  answers: boolean | null;
  provenance?: Provenance;
}
export interface UpdateHeld {
  /** The agent. */
  id: string;
  /** The installed version. */
  from: string;
  /** The newer version. Of `other-registry`: the version in this index, or the installed one where it has none. */
  to: string;
  /** `min-age`: too young; `unknown-age`: no source states its age; `cooldown`: a setting of npm or uv holds it back; `revoked`: the registry has revoked it; `other-registry`: the agent is from another registry than this index, and was not named. */
  reason: 'min-age' | 'unknown-age' | 'cooldown' | 'revoked' | 'other-registry';
  /** When it is old enough; null if that is unknown, or if only another setting allows it. RFC 3339. */
  until: string | null;
  /** Of a cooldown: the setting, its place and the newest version that is allowed, as a sentence. Of a revoked version: what the registry says. Of another registry: which one. */
  message?: string;
}
export interface UpdatePinned {
  /** The agent. */
  id: string;
  /** The installed version. */
  version: string;
  /** The version in the index: `available_version` in `list`. */
  available: string;
}
/** The parameters, by name. May be absent. */
export interface UninstallParams {
  /** The agents; not with `all`. */
  agents?: string[] | null;
  /** Removes all agents. Without it, false. */
  all?: boolean | null;
  /** Removes running agents, too. Without it, false. */
  force?: boolean | null;
  /** Changes nothing, and says what would be removed. Without it, false. */
  dry_run?: boolean | null;
}
/** The agents that were removed. */
export interface UninstallDocument {
  /** Version of this form. */
  schema: 1;
  /** The command. */
  command: 'uninstall';
  /** Whether nothing was changed, so that the rest says what would be. */
  dry_run: boolean;
  /** Versions that were removed. */
  removed: UninstallRemoved[];
  /** Always empty: as in `gc`. An agent that runs is in `errors`. */
  running: UninstallRunning[];
  /** Always empty: as in `gc`. */
  named: UninstallNamed[];
  /** Of the removed versions, those that settings printed by `config --direct` name. These settings start nothing any more. */
  still_named?: UninstallStillNamed[];
  /** Bytes that were freed. */
  freed_bytes: number;
  /** Paths that this program did not make, and that stay. */
  kept: string[];
  /** Agents for which the command failed. */
  errors: AgentFailure[];
  /** The agents that were removed. */
  ids: string[];
}
export interface UninstallRemoved {
  /** The agent. */
  id: string;
  /** The version. */
  version: string;
  /** Bytes that it takes on disk, with its receipt and its digests. */
  size: number;
}
export interface UninstallRunning {
  /** The agent. */
  id: string;
  /** The version. */
  version: string;
  /** Bytes that it takes on disk, with its receipt and its digests. */
  size: number;
}
export interface UninstallNamed {
  /** The agent. */
  id: string;
  /** The version. */
  version: string;
  /** Bytes that it takes on disk, with its receipt and its digests. */
  size: number;
  /** The clients whose settings name it. */
  clients: string[];
}
export interface UninstallStillNamed {
  /** The agent. */
  id: string;
  /** The version. */
  version: string;
  /** Bytes that it takes on disk, with its receipt and its digests. */
  size: number;
  /** The clients whose settings name it. */
  clients: string[];
}
/** The parameters, by name. May be absent. */
export interface DoctorParams {
  /** Agents to check and to start; without any, all are checked, and none is started. */
  agents?: string[] | null;
  /** Repairs what can be repaired. Without it, false. */
  fix?: boolean | null;
  /** The time that each agent has to answer; without it, 60. */
  timeout_seconds?: number | null;
}
/** Something that was examined. */
export interface Check {
  /** What was examined, as a word that stays the same, such as `node` or `program`. */
  name: string;
  /** The result. A warning affects nothing that is installed. */
  status: 'ok' | 'warning' | 'error';
  /** What was found, as a sentence. */
  message: string;
  /** What to do about it. */
  help: string | null;
}
/** What the agent answered. */
export interface Handshake {
  /** The version of the protocol that the agent has chosen; null without an answer. */
  protocol_version: number | null;
  /** `agentInfo`, or `info` in version 2, as answered. */
  agent_info: {
    [k: string]: unknown;
  };
  /** The ways to sign in. */
  auth_methods: AuthMethod[];
  /** `agentCapabilities`, or `capabilities` in version 2, as answered. */
  capabilities: {
    [k: string]: unknown;
  };
  /** The capabilities by stable names, such as `session/load`. */
  features: {
    [k: string]: boolean;
  };
  /** Members of the answer that no version of the protocol knows, as answered. */
  extra: {
    [k: string]: unknown;
  };
  /** Outcomes of further requests, by method. */
  probes: {
    [k: string]:
      | 'ok'
      | 'auth_required'
      | 'method_not_found'
      | 'invalid_params'
      | 'resource_not_found'
      | 'request_cancelled'
      | 'error'
      | 'timeout';
  };
  /** The choices that a new session offers; null where none was opened. */
  session: HandshakeSession | null;
  /** Why the agent opens no session, in its own words, where it lacks a program, a model or a provider instead of a sign-in. */
  setup_required: string | null;
  /** Notifications that the agent sent unasked: how many of each method. */
  notifications: {
    [k: string]: number;
  };
  /** Requests of the agent, all refused: how many of each method. */
  requests: {
    [k: string]: number;
  };
  /** What is wrong, but prevents nothing. */
  warnings: string[];
}
/** A way to sign in. */
export interface AuthMethod {
  /** The agent's name for it. */
  id: string;
  /** What people see. */
  name: string;
  /** `agent`, `terminal`, `env_var` or the agent's own word. */
  type: string;
  /** Where the type was found: in its `type`, below its `_meta`, or nowhere, which means `agent`. */
  type_source: 'type' | 'meta' | 'default';
}
export interface HandshakeSession {
  /** Ids of modes, in the agent's order. */
  modes: string[];
  /** Configuration options, in the agent's order. */
  config_options: HandshakeSessionConfigOption[];
}
/** An option. */
export interface HandshakeSessionConfigOption {
  /** Its id. */
  id: string;
  /** `select`, `boolean` or the agent's own word. */
  type: string;
  /** What it is about, such as `model`. */
  category: string | null;
}
/** The state of the runtimes, of the store, of the index and of installed agents. */
export interface DoctorDocument {
  /** Version of this form. */
  schema: 1;
  /** The command. */
  command: 'doctor';
  /** Runtimes, the directory of installed agents, proxies, certificates and the index. */
  checks: Check[];
  /** Agents that `--fix` could not repair. */
  errors: AgentFailure[];
  /** Installed agents. */
  agents: DoctorAgent[];
  error?: Failure;
}
export interface DoctorAgent {
  /** The agent. */
  id: string;
  /** The version that is named, else the one that is started, if it is known. */
  version: string | null;
  /** The worst of its checks. */
  status: 'ok' | 'warning' | 'error';
  /** What was examined. */
  checks: Check[];
  /** The outcome of the handshake, as in `probe`; its own member `handshake` is what the agent answered. Null when there was none. */
  handshake: DoctorAgentHandshake | null;
}
/** The outcome of a handshake. */
export interface DoctorAgentHandshake {
  /** Whether the agent answers and a person can sign in; `error`: it was not started, or the machine may be the cause. */
  verdict: 'pass' | 'fail' | 'error';
  /** Why it did not pass, as a word that stays the same, such as `no_auth_methods` or `timeout`. */
  reason: string | null;
  /** The reason as a sentence, with what would help. */
  message: string | null;
  handshake: Handshake;
  timing: DoctorAgentHandshakeTiming;
  /** How the process ended; null when it was never started. */
  exit: DoctorAgentHandshakeExit | null;
  /** The end of what it wrote to stderr, at most 64 KiB, as written: escape it before you show it. */
  stderr_tail: string;
  /** What kept the agent apart from the host: `environment`, `user`, `bwrap` or `bwrap-no-network`; `unknown` for an agent on a network. */
  isolation: string | null;
}
/** How long it took. */
export interface DoctorAgentHandshakeTiming {
  /** From the start of the process to its response; null without one. */
  start_to_response_seconds: number | null;
  /** From the start until the last process has ended and all files are removed. */
  total_seconds: number;
}
export interface DoctorAgentHandshakeExit {
  /** Whether it exited by itself, was ended by a signal of its own, or was terminated or killed by the check. */
  how: 'exited' | 'signaled' | 'terminated' | 'killed';
  /** Its exit code. */
  code: number | null;
  /** The signal that ended it. */
  signal: number | null;
}
/** The parameters, by name. */
export interface LoginMethodsParams {
  /** The agent: `ID` or `ID@VERSION`, such as `gemini`. */
  agent: string;
  /** The time that the agent has to answer; without it, 60. */
  timeout_seconds?: number | null;
}
/** The result of signing in. */
export interface LoginMethodsDocument {
  /** Version of this form. */
  schema: 1;
  /** The command. */
  command: 'login';
  /** The agent. */
  id: string;
  /** Its version. */
  version?: string;
  /** `signed_in`: a session opens, and did not before. `unconfirmed`: nothing shows that the sign-in worked. `failed`: see `reason`. `signed_out` is of `logout`. */
  status?: 'signed_in' | 'unconfirmed' | 'signed_out' | 'failed';
  /** Why it failed, as a word that stays the same, such as `refused` or `timeout`. */
  reason?: string | null;
  /** The result as a sentence. */
  message?: string;
  /** What to do about it. */
  help?: string | null;
  /** The method that was used. */
  method?: AuthMethod | null;
  /** The variables that the method wants. */
  variables?: LoginMethodsVariable[];
  /** Where to get the values. */
  link?: string | null;
  /** The answer to `session/new`, if it was sent. */
  session?:
    | 'ok'
    | 'auth_required'
    | 'method_not_found'
    | 'invalid_params'
    | 'resource_not_found'
    | 'request_cancelled'
    | 'error'
    | 'timeout'
    | null;
  /** The end of what the agent wrote to stderr, as written: escape it before you show it. */
  stderr_tail?: string;
  /** The methods to choose from: where there are several and none was named, or where they were asked for. */
  methods: AuthMethod[];
}
export interface LoginMethodsVariable {
  /** Its name. */
  name: string;
  /** What people call it. */
  label: string | null;
  /** Whether its value is secret. */
  secret: boolean;
  /** Whether it may be left out. */
  optional: boolean;
  /** Whether the agent gets a value for it. */
  set: boolean;
}
/** The parameters, by name. */
export interface LoginParams {
  /** The agent: `ID` or `ID@VERSION`, such as `gemini`. */
  agent: string;
  /** The id of the method; without it, the only one. */
  method?: string | null;
  /** The time that signing in may take; without it, 600. */
  timeout_seconds?: number | null;
}
/** The result of signing in. */
export interface LoginDocument {
  /** Version of this form. */
  schema: 1;
  /** The command. */
  command: 'login';
  /** The agent. */
  id: string;
  /** Its version. */
  version: string;
  /** `signed_in`: a session opens, and did not before. `unconfirmed`: nothing shows that the sign-in worked. `failed`: see `reason`. `signed_out` is of `logout`. */
  status: 'signed_in' | 'unconfirmed' | 'signed_out' | 'failed';
  /** Why it failed, as a word that stays the same, such as `refused` or `timeout`. */
  reason: string | null;
  /** The result as a sentence. */
  message: string;
  /** What to do about it. */
  help: string | null;
  /** The method that was used. */
  method: AuthMethod | null;
  /** The variables that the method wants. */
  variables: LoginVariable[];
  /** Where to get the values. */
  link: string | null;
  /** The answer to `session/new`, if it was sent. */
  session:
    | 'ok'
    | 'auth_required'
    | 'method_not_found'
    | 'invalid_params'
    | 'resource_not_found'
    | 'request_cancelled'
    | 'error'
    | 'timeout'
    | null;
  /** The end of what the agent wrote to stderr, as written: escape it before you show it. */
  stderr_tail: string;
  /** The methods to choose from: where there are several and none was named, or where they were asked for. */
  methods?: AuthMethod[];
  error?: Failure;
}
export interface LoginVariable {
  /** Its name. */
  name: string;
  /** What people call it. */
  label: string | null;
  /** Whether its value is secret. */
  secret: boolean;
  /** Whether it may be left out. */
  optional: boolean;
  /** Whether the agent gets a value for it. */
  set: boolean;
}
/** The parameters, by name. */
export interface LogoutParams {
  /** The agent: `ID` or `ID@VERSION`, such as `gemini`. */
  agent: string;
  /** The time that signing out may take; without it, 600. */
  timeout_seconds?: number | null;
}
/** The result of signing out. */
export interface LogoutDocument {
  /** Version of this form. */
  schema: 1;
  /** The command. */
  command: 'logout';
  /** The agent. */
  id: string;
  /** Its version. */
  version: string;
  /** `signed_out`: the agent says so. `failed`: it is not; `reason` says why. The other words are those of `login`, and do not occur. */
  status: 'signed_in' | 'unconfirmed' | 'signed_out' | 'failed';
  /** Why it failed, as a word that stays the same, such as `refused` or `timeout`. */
  reason: string | null;
  /** The result as a sentence. */
  message: string;
  /** What to do about it. */
  help: string | null;
  /** Always null: as in `login`. */
  method: AuthMethod | null;
  /** Always empty: as in `login`. */
  variables: LogoutVariable[];
  /** Always null: as in `login`. */
  link: string | null;
  /** The answer to `session/new` after signing out, if it was sent: `ok` means that the agent still opens sessions. */
  session:
    | 'ok'
    | 'auth_required'
    | 'method_not_found'
    | 'invalid_params'
    | 'resource_not_found'
    | 'request_cancelled'
    | 'error'
    | 'timeout'
    | null;
  /** The end of what the agent wrote to stderr, as written: escape it before you show it. */
  stderr_tail: string;
  error?: Failure;
}
export interface LogoutVariable {
  /** Its name. */
  name: string;
  /** What people call it. */
  label: string | null;
  /** Whether its value is secret. */
  secret: boolean;
  /** Whether it may be left out. */
  optional: boolean;
  /** Whether the agent gets a value for it. */
  set: boolean;
}
/** An installation begins. */
export interface InstallingStartedEvent {
  /** What happens. */
  event: 'installing';
  /** The agent. */
  id: string;
  /** How far it is. */
  phase: 'started';
  /** The version. */
  version: string;
}
/** Bytes of an archive arrived. */
export interface InstallingDownloadingEvent {
  /** What happens. */
  event: 'installing';
  /** The agent. */
  id: string;
  /** How far it is. */
  phase: 'downloading';
  /** Bytes so far. */
  received: number;
  /** Bytes of the whole, if it is known. */
  total: number | null;
}
/** An archive is being unpacked. */
export interface InstallingUnpackingEvent {
  /** What happens. */
  event: 'installing';
  /** The agent. */
  id: string;
  /** How far it is. */
  phase: 'unpacking';
}
/** A package manager runs. */
export interface InstallingRunningEvent {
  /** What happens. */
  event: 'installing';
  /** The agent. */
  id: string;
  /** How far it is. */
  phase: 'running';
  /** Its name. */
  program: string;
  /** How far it is, in its own words; absent where it does not say. */
  detail?: string;
}
/** An installation has ended, whatever its result. */
export interface InstallingEndedEvent {
  /** What happens. */
  event: 'installing';
  /** The agent. */
  id: string;
  /** How far it is. */
  phase: 'ended';
}
/** An agent is installed, started or done. */
export interface CheckingEvent {
  /** What happens. */
  event: 'checking';
  /** The agent, for `verify` and `validate` with its distribution. */
  name: string;
  /** How far it is. */
  phase: 'installing' | 'starting' | 'done';
  /** How far the installation is, in the words of npm or uv. */
  detail?: string;
}
/** Questions to hosts. */
export interface AskingEvent {
  /** What happens. */
  event: 'asking';
  /** How many requests to hosts are known so far; in `bump`, how many agents. */
  planned: number;
  /** How many of them have an answer. */
  answered: number;
}
/** Files of a published tree. */
export interface SendingEvent {
  /** What happens. */
  event: 'sending';
  /** How many files are known so far. */
  planned: number;
  /** How many of them were sent. */
  sent: number;
}
/** Something that the caller may want to know. */
export interface NoteEvent {
  /** What happens. */
  event: 'note';
  /** The text. */
  message: string;
}
/** Something that the caller should know, although the command succeeds. */
export interface WarningEvent {
  /** What happens. */
  event: 'warning';
  /** The text. */
  message: string;
  /** One thing to do about it, where a failure is told. */
  help?: string | null;
}
/** A text for people. */
export interface TextEvent {
  /** What happens. */
  event: 'text';
  /** The text. */
  message: string;
}
/** Why the command failed, or something that failed in it. */
export interface ErrorEvent {
  /** What happens. */
  event: 'error';
  /** The agent, where the failure is that of one among others. */
  id?: string;
  code?: Code;
  /** The exit code of the program, or the one that this failure alone would give. */
  exit_code?: number;
  /** What failed, where and why, as a sentence. */
  message: string;
  /** One thing to do about it. */
  help?: string | null;
  /** What could be named instead: the names that were probably meant, the nearest first; the methods or versions that there are; for `held_by_cooldown`, the newest version that is allowed. */
  suggestions?: string[];
}
/** For programs. */
export interface ErrorData {
  code: Code;
  /** The exit code that the command would have had. */
  exit_code: number;
  /** One thing to do about it. */
  help: string | null;
  /** What could be named instead: the names that were probably meant, the nearest first; the methods or versions that there are; for `held_by_cooldown`, the newest version that is allowed. */
  suggestions: string[];
  /** The parameter that is wrong, with -32602. */
  parameter?: string;
  /** The document of a command that failed in part, such as for one of several agents. */
  result?: {};
}
