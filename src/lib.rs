//! The library behind `acp-registry`, to validate, publish and use registries of Agent Client Protocol agents.
//!
//! The library prints nothing. Temporary files are where the system wants them (`TMPDIR`); no other variable is read implicitly.
//! Programs pass the environment's proxies to the HTTP client with [`http::Proxies::new`]; [`session`] does so by itself.
//! The command line in `main.rs` and `cli/` is one of its users.
//!
//! # Crates
//!
//! The command line in `src/cli` parses flags, calls a crate, and prints the result as rendered by [`report`]. This
//! library re-exports the modules of all crates, so that a program can depend on it alone. Programs that only use agents
//! can depend on `acp-registry-client`. The dependencies of a crate are in its `Cargo.toml`, those of a module in
//! `tests/it/architecture.rs`.
//!
//! | crate | what it is for | its modules |
//! |---|---|---|
//! | `crates/plan` | manifests, indexes and plans, without a machine | [`manifest`], [`index`], [`resolve`], [`report::documents`], [`entries`], [`sums`], [`digest`], [`json`], [`remedy`], [`source`], [`text`], [`timestamp`] |
//! | `crates/wasm` | `crates/plan` as WebAssembly, for browsers and Electron | none for Rust |
//! | `crates/host` | the machine: processes and their isolation, files, locks, runtimes, git | [`host`], [`cause`] |
//! | `crates/archive` | list, check and unpack hostile archives | [`archive`] |
//! | `crates/http` | the HTTP client: addresses, redirects, proxies, cache | [`http`] |
//! | `crates/sources` | npm, the Python package index and GitHub | [`sources`] |
//! | `crates/protocol` | speak the protocol with an agent | [`handshake`] |
//! | `crates/examine` | check how well agents follow the protocol | [`examination`], [`mcp`], [`model`] |
//! | `crates/client` | find, install and start agents | [`session`], [`index`] (copies, search), [`resolve`] (examines this machine), [`install`], [`store`], [`lockfile`], [`update`], [`doctor`], [`login`], [`settings`], [`registry`] |
//! | `crates/gate` | maintain a registry | [`config`], [`select`], [`survey`], [`check`], [`finding`], [`edit`], [`verify`], [`bump`], [`scaffold`], [`propose`] |
//! | `crates/publish` | build and publish what readers see | [`build`], [`tree`], [`history`], [`diff`], [`site`], [`server`], [`upload`] |
//! | `crates/crc-fast` | takes the place of a dependency with large tables, see `docs/decisions/binary-size.md` | none |
//!
//! # Words
//!
//! | word | meaning |
//! |---|---|
//! | registry | a directory with a folder for each agent: `<id>/agent.json` and `icon.svg` |
//! | manifest | one `agent.json` |
//! | index | `registry.json`, which clients read: [`index`] reads it, [`tree`] writes it |
//! | tree | all published files: indexes, icons, schemas, the catalog |
//! | catalog | the website in a tree |
//! | view | an index with a subset of the agents, or of one channel |
//! | snapshot | `capabilities.json`, the capabilities of agents; in [`upload`], a published tree that is not changed any more |
//! | plan | which version of an agent to install, for which platform, and from where |
//! | receipt | the record of an installation, stored beside it |
//! | finding | a problem in a file that a rule reports |
//! | examination | the results of all checks of an agent up to a level |
//! | survey | answers of package registries and hosts about the packages and URLs in manifests |
//!
//! # Modules
//!
//! Data flows in one direction. Each line begins with a command, or with several, and names the modules that its data passes, from
//! the first to the last. Modules in parentheses are passed only if a flag asks for them; [`session`] calls the modules that
//! follow it. No two modules use each other: `tests/it/architecture.rs` has which uses which.
//!
//! ```text
//! validate   registry ── select ── (survey, verify ──) check ── report
//! build      registry ── check ── tree ── (history ──) site ── report
//! serve      registry ── check ── tree ── (history ──) site ── server
//! verify     registry ── select ── install ── handshake (── examination) ── report
//! report     report (documents of validate and verify)
//! probe      handshake (── examination) ── report
//! doctor     store ── handshake ── doctor ── report
//! login      store ── handshake ── login ── report
//! install    session: index ── resolve ── install ── store
//! update     session: index ── update ── install ── store
//! config     index, store ── settings
//! rpc        the commands that use agents, as methods ── report
//! diff       diff ── report
//! publish    upload ── report
//! bump       registry ── bump ── (propose ──) report
//! new, init  scaffold ── (verify ──) report
//! ```
//!
//! | module | what it does |
//! |---|---|
//! | [`manifest`] | LOAD: parses an `agent.json` into typed values with their positions in the text; versions, package specifications, archive addresses |
//! | [`registry`] | LOAD: reads a registry directory and its quarantine list |
//! | [`config`] | LOAD: reads `registry.toml` |
//! | [`select`] | SELECT: chooses the registry and the agents that a run processes |
//! | [`edit`] | EDIT: changes a file of a registry, unless another program changed it in the meantime |
//! | [`sources`] | clients of npm, the Python package index and GitHub: metadata of packages, releases and repositories, and their addresses, from the configuration of npm and of uv |
//! | [`survey`] | GATHER: requests data about the packages and URLs in manifests, each once; also holds the results of started agents |
//! | [`check`] | CHECK: the rules, one per file, and their runner; turns a loaded registry and an optional survey into findings |
//! | [`handshake`] | HANDSHAKE: starts an agent, sends `initialize`, judges the answer and ends the agent; turns a command into an outcome |
//! | [`examination`] | EXAMINE: tests an agent with checks, one per file, that are based on the protocol's documentation; turns a command into results |
//! | [`mcp`] | an MCP server, which agents start during an examination |
//! | [`model`] | MODEL: a scripted language model on loopback, with which agents carry out turns without an account |
//! | [`install`] | INSTALL: installs a distribution into a directory with npm, uv or the HTTP client; turns a distribution into a program |
//! | [`index`] | READ: reads a published index leniently, and keeps a copy between runs; turns a path or URL into agents |
//! | [`session`] | USE: the entry point for programs that use agents: open an index, choose an agent, install it, start it |
//! | [`resolve`] | RESOLVE: chooses version, platform, distribution and runtime; turns an id into a plan |
//! | [`store`] | STORE: installed agents, with several versions side by side, receipts and locks; turns a plan into an installed program |
//! | [`lockfile`] | LOCK: records versions with their digests, so that the same bytes can be installed elsewhere |
//! | [`update`] | UPDATE: compares installed versions with those in the index |
//! | [`doctor`] | DIAGNOSE: checks runtimes, the store and each installed agent; reports problems with remedies |
//! | [`login`] | SIGN IN: carries out an authentication method, and checks that the agent then opens a session; signs out |
//! | [`verify`] | VERIFY: installs and checks the agents of a registry, several at once; writes the capability snapshot |
//! | [`bump`] | BUMP: finds newer versions in the sources of an agent, chooses one, and computes the smallest change to the manifest |
//! | [`scaffold`] | SCAFFOLD: creates a new agent's folder from npm, the Python package index or GitHub, and the files of a new registry |
//! | [`propose`] | PROPOSE: opens pull requests on GitHub for updates |
//! | [`finding`] | the result type of checks, which reports render |
//! | [`report`] | REPORT: renders findings and outcomes as text for people and as JSON documents; findings also as SARIF, GitHub Actions commands and Markdown |
//! | [`build`] | BUILD: builds the tree of a registry with its site and history in one call |
//! | [`tree`] | AGGREGATE: turns agents into the published tree, and swaps it into place |
//! | [`history`] | LOAD: reads from git or a file when agents were added, changed and removed |
//! | [`settings`] | SETTINGS: generates the settings with which a client of the protocol starts an agent |
//! | [`diff`] | COMPARE: finds the changes between two published indexes |
//! | [`site`] | RENDER: renders the catalog site from a published index |
//! | [`upload`] | PUBLISH: sends a built tree to a directory or a bucket; files are sent before those that refer to them |
//! | [`server`] | serves a tree from memory over HTTP on this machine |
//! | [`archive`] | lists, checks and unpacks downloaded archives; detects their platform |
//! | [`entries`], [`sums`] | the digests by which one agent is found in a published tree without the index; `SHA256SUMS` |
//! | [`http`] | the HTTP client: allowed addresses, rate limits, retries, credentials and cache |
//! | [`cause`] | finds the line in a program's output that says why it failed |
//! | [`host`] | the operating system: what this machine can run (Rosetta, glibc), files, runs `git` and package managers, untrusted programs and their network namespaces |
//! | [`digest`], [`json`], [`source`], [`text`], [`timestamp`] | shared utilities: SHA-256, JSON output, positions in a text, escaping of untrusted text, timestamps |
//!
//! # Files
//!
//! | file | read or written by | what it is |
//! |---|---|---|
//! | `<id>/agent.json`, `<id>/icon.svg` | [`registry::Registry::load`] | an agent |
//! | `quarantine.json` | [`registry::Registry::load`] | agents that stay published but are not started or updated |
//! | `registry.toml` | [`config::Config::read`] | rule levels, the site, published views and withdrawn agents |
//! | `history.json` | [`history::History::parse`], [`site`] (published) | when agents were added, changed and removed |
//! | `~/.cache/acp-registry` | [`http::Cache`] | cached HTTP responses |
//! | `~/.cache/acp-registry/npm`, `uv` | [`install::PackageCache`] | the caches of npm and uv |
//! | `~/.cache/acp-registry/indexes` | [`index::Copies`] | the last copy of each index, and of entries |
//! | `~/.local/share/acp-registry` | [`store`] | installed agents |
//! | `acp-registry.lock` | [`lockfile::LockFile`] | versions with all their digests |
//! | `schemas/*.json` | [`check::schema`] (embedded), [`tree`] (published) | the contracts |
//! | `schemas/cli/*.json` | [`site`] (embedded, published) | the JSON documents that commands print |
//! | `capabilities.json` | [`verify::Snapshot`] | the capabilities of agents |
//! | `capabilities.json.journal` | [`verify`] | what a run has added since it wrote that file |
//! | `registry.json` and other views, `<id>.svg`, `SHA256SUMS` | [`tree`] | the published tree |
//! | `entries.json`, `entry-lists/`, `entries/` | [`tree`], [`index`] | the same, agent by agent: [`entries`] |
//! | `v*/`, `content/`, `latest/`, `.acp-registry/` | [`upload`] | snapshots of that tree, what they share, the newest one, and the state of publishers |
//! | `index.html`, `agents/`, `assets/` and more ([`site::CONTENTS`]) | [`site`] | the catalog site, which is part of that tree |
//! | `templates/init/`, `.github/` | [`scaffold`] (embedded) | the initial files of a new registry |
//! | `templates/`, `crates/publish/src/site/assets/` | [`site`] (embedded) | the templates, styles and scripts of pages |

pub mod report;

pub use acp_registry_archive as archive;
pub use acp_registry_client::{
    doctor, index, install, lockfile, login, registry, resolve, session, settings, store, update,
};
pub use acp_registry_examine::{examination, mcp, model};
pub use acp_registry_gate::{bump, check, config, edit, finding, propose, scaffold, select, survey, verify};
pub use acp_registry_host::{self as host, cause};
pub use acp_registry_http as http;
pub use acp_registry_plan::{digest, entries, json, manifest, remedy, source, sums, text, timestamp};
pub use acp_registry_protocol::handshake;
pub use acp_registry_publish::{build, diff, history, server, site, tree, upload};
pub use acp_registry_sources as sources;

/// Compiles and runs the examples of the library's documentation.
#[cfg(doctest)]
#[doc = include_str!("../docs/library.md")]
struct Library;

/// Compiles and runs the examples of the guide for authors of clients.
#[cfg(doctest)]
#[doc = include_str!("../docs/guides/client-author.md")]
struct ClientAuthor;
