//! The library behind `acp-registry`, to validate, publish and use registries of Agent Client Protocol agents.
//!
//! The library prints nothing. The only variable that it reads itself is the system's for temporary files (`TMPDIR`).
//! Programs pass the environment's proxies to the HTTP client with [`http::Proxies::new`]; [`session`] does so from the variables in its options.
//! The program in `main.rs` is one of its users; its folders are listed there.
//!
//! # Crates
//!
//! This library re-exports the modules of all crates, so that a program can depend on it alone. Programs that only use agents
//! can depend on `acp-registry-client`. Each crate says in its `lib.rs` what its modules do. The dependencies of a crate are
//! in its `Cargo.toml`, those of a module in `tests/it/architecture.rs`.
//!
//! | crate | what it is for | its modules |
//! |---|---|---|
//! | `crates/plan` | manifests, indexes and plans, without a machine | [`manifest`], [`index`](acp_registry_plan::index), [`closure`], [`resolve`](acp_registry_plan::resolve), [`documents`], [`entries`], [`sums`], [`digest`], [`duration`], [`failure`], [`json`], [`position`], [`revocations`], [`statement`], [`text`], [`timestamp`], [`versions`] |
//! | `crates/wasm` | `crates/plan` as WebAssembly, for browsers and Electron | none for Rust |
//! | `crates/host` | the machine: processes and their isolation, files, locks, runtimes, git | [`host`], [`cause`] |
//! | `crates/archive` | list, check and unpack hostile archives; `clippy.toml` refuses to unpack them elsewhere | [`archive`] |
//! | `crates/http` | the HTTP client: addresses, redirects, proxies, cache | [`http`] |
//! | `crates/sources` | npm, the Python package index and GitHub | [`sources`] |
//! | `crates/protocol` | speak the protocol with an agent | [`handshake`] |
//! | `crates/remote` | the protocol over HTTP and WebSocket: a bridge to agents on a network, and a server for agents on stdin and stdout | [`remote`] |
//! | `crates/examine` | check how well agents follow the protocol | [`examination`], [`mcp`], [`model`] |
//! | `crates/client` | find, install and start agents | [`session`], [`index`] (copies, search), [`resolve`] (examines this machine), [`install`], [`store`], [`lockfile`], [`provenance`], [`doctor`], [`login`], [`elsewhere`], [`ops`], [`settings`], [`registry`] |
//! | `crates/gate` | maintain a registry | [`config`], [`advisories`], [`select`], [`survey`], [`check`], [`finding`], [`edit`], [`history`], [`release`], [`closures`], [`verify`], [`bump`], [`scaffold`], [`propose`] |
//! | `crates/publish` | build and publish what readers see | [`build`], [`tree`], [`diff`], [`site`], [`contents`], [`server`], [`upload`] |
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
//! | closure | all packages that a package needs, each with its version and digest |
//! | receipt | the record of an installation, stored beside it |
//! | finding | a problem in a file that a rule reports |
//! | examination | the results of all checks of an agent up to a level |
//! | survey | answers of package registries and hosts about the packages and URLs in manifests |
//!
//! # Data flow
//!
//! Data flows in one direction. Each line begins with a command, or with several, and names the modules that its data passes,
//! from the first to the last. Modules in parentheses are passed only if a flag asks for them or, in `run`, if the agent is
//! not installed; [`build`], [`verify`], [`bump`], [`ops`] and [`session`] call the modules that follow them. There are no circles: no module uses,
//! even through others, one that uses it.
//!
//! ```text
//! validate   registry ── select ── (survey, verify ──) check
//! build      build: registry ── check ── tree ── (history ──) site
//! serve      as build ── server
//! verify     registry ── select ── verify: install ── handshake (── examination)
//! probe      handshake (── examination)
//! doctor     ops: store ── handshake ── doctor
//! login      ops: store ── handshake ── login
//! install    ops: session: index ── resolve ── install ── store
//! run        ops: session: store (── index ── resolve ── install ── store) ── host
//! update     ops: session: index ── resolve ── install ── store
//! config     index, store ── settings
//! rpc        ops
//! diff       diff
//! publish    upload
//! bump       registry ── select ── bump: survey ── check (── verify) (── propose)
//! new, init  scaffold (── verify) ── check
//! ```
//!
//! # Files
//!
//! | file | read or written by | what it is |
//! |---|---|---|
//! | `<id>/agent.json`, `<id>/icon.svg` | [`registry::Registry::load`] | an agent |
//! | `<id>/package-lock.json`, `<id>/requirements.txt` | [`closures`], [`registry::Registry::closures`] | the closures of an agent's packages |
//! | `revoked.json` | [`registry::Registry::load`], [`session::Session::learn_revocations`] | recalled versions, which clients refuse |
//! | `quarantine.json` | [`registry::Registry::load`] | agents that stay published but are not started or updated: people write it, [`verify`] and [`bump`] advise |
//! | `registry.toml` | [`config::Config::read`] | rule levels, the site, published views and withdrawn agents |
//! | `history.json` | [`history::History::parse`], [`site`] (published) | when agents were added, changed and removed |
//! | `~/.cache/acp-registry` | [`http::Cache`] | cached HTTP responses |
//! | `~/.cache/acp-registry/npm`, `uv`, `packages`, `node.json` | [`install::PackageCache`] | the caches of npm and uv, unpacked packages of npm, and the version of Node.js |
//! | `~/.cache/acp-registry/indexes` | [`index::Copies`] | the last copy of each index, and of entries |
//! | `~/.local/share/acp-registry/agents` | [`store`] | installed agents |
//! | `~/.local/share/acp-registry/trust`, `revoked` | [`index::Trust`], [`index::RevocationMemory`] | who signs which registry, and what each has recalled |
//! | `~/.local/share/acp-registry/homes` | [`session::Session::confine`] | homes of agents that `run --sandbox` starts |
//! | `acp-registry.lock` | [`lockfile::LockFile`] | versions with all their digests |
//! | `schemas/*.json` | [`check::schema`], [`verify`], [`entries`] (embedded); [`tree`] publishes those of agents and indexes | the contracts of this project |
//! | `schemas.json` of the build | `crates/examine/build.rs`, [`examination`] | the protocol's schemas, from its own crate |
//! | `schemas/cli/*.json` | [`site`] (embedded, published) | the JSON documents that commands print |
//! | `capabilities.json` | [`verify::Snapshot`] | the capabilities of agents |
//! | `capabilities.json.journal` | [`verify`] | what a run has added since it wrote that file |
//! | `registry.json` and other views, `<id>.svg`, `SHA256SUMS` | [`tree`] | the published tree |
//! | `entries.json`, `entry-lists/`, `entries/` | [`tree`], [`index`] | the same, agent by agent: [`entries`] |
//! | `v*/`, `content/`, `latest/`, `.acp-registry/` | [`upload`] | snapshots of that tree, what they share, the newest one, and the state of publishers |
//! | `statement.json`, `statement.json.minisig` | [`upload`], [`index::Trust`] | what a registry has published, and its signature |
//! | `facets.json` | [`site`] (published), [`index::Facts`] | which agents have which values of the catalog's filters |
//! | `index.html`, `agents/`, `assets/` and more ([`contents::CONTENTS`]) | [`site`] | the catalog site, which is part of that tree |
//! | `templates/init/`, `.github/` | [`scaffold`] (embedded) | the initial files of a new registry |
//! | `templates/`, `crates/publish/src/site/assets/` | [`site`] (embedded) | the templates, styles and scripts of pages |

pub use acp_registry_archive as archive;
pub use acp_registry_client::{
    doctor, elsewhere, index, install, lockfile, login, ops, provenance, registry, resolve, session, settings, store,
};
pub use acp_registry_examine::{examination, mcp, model};
pub use acp_registry_gate::{
    advisories, bump, check, closures, config, edit, finding, history, propose, release, scaffold, select, survey,
    verify,
};
pub use acp_registry_host::{self as host, cause};
pub use acp_registry_http as http;
pub use acp_registry_plan::{
    closure, digest, documents, duration, entries, failure, json, manifest, position, revocations, statement, sums,
    text, timestamp, versions,
};
pub use acp_registry_protocol::handshake;
pub use acp_registry_publish::{build, contents, diff, server, site, tree, upload};
pub use acp_registry_remote as remote;
pub use acp_registry_sources as sources;

/// Compiles and runs the examples of the library's documentation.
#[cfg(doctest)]
#[doc = include_str!("../docs/library.md")]
struct Library;
