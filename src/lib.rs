//! The library behind `acp-registry`: validate, publish and use registries of Agent Client Protocol agents.
//!
//! It prints nothing, and of the environment it uses only the proxies, for HTTP; the command line in `main.rs` and
//! `cli/` is one user of it.
//!
//! # Crates
//!
//! The command line in `src/cli` reads flags, calls a crate, and prints what [`report`] makes of the result. This library names
//! the modules of all crates, so that a program can depend on it alone; one that only uses agents depends on
//! `acp-registry-client`. What a crate may use is in its `Cargo.toml`, what a module may use in `tests/it/architecture.rs`.
//!
//! | crate | what it is for | its modules |
//! |---|---|---|
//! | `crates/core` | what every part needs | [`archive`], [`cause`], [`digest`], [`json`], [`manifest`], [`net`], [`registry`], [`source`], [`sums`], [`sys`], [`text`], [`timestamp`], [`upstream`] |
//! | `crates/protocol` | speak the protocol to an agent | [`handshake`] |
//! | `crates/examine` | examine how agents keep to the protocol | [`examination`] |
//! | `crates/client` | use agents | [`session`], [`index`], [`resolve`], [`install`], [`store`], [`lockfile`], [`update`], [`doctor`], [`login`], [`settings`] |
//! | `crates/gate` | keep a registry | [`config`], [`select`], [`survey`], [`check`], [`finding`], [`edit`], [`verify`], [`bump`], [`scaffold`], [`propose`] |
//! | `crates/publish` | what readers see | [`build`], [`tree`], [`history`], [`diff`], [`site`], [`server`], [`upload`] |
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
//! | view | an index with a part of the agents, or of a channel |
//! | snapshot | `capabilities.json`, what agents can do; in [`upload`], one published tree that stays |
//! | plan | which version of an agent is installed, for which platform, from where |
//! | receipt | what was installed, written beside it |
//! | finding | what a rule reports about a file |
//! | examination | the results of all checks of an agent up to a level |
//! | survey | the answers of package registries and hosts about everything that manifests name |
//!
//! # Modules
//!
//! Data flows one way: a module uses only modules to its left. The words on the left are commands.
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
//! diff       diff ── report
//! publish    upload ── report
//! bump       registry ── bump ── (propose ──) report
//! new, init  scaffold ── (verify ──) report
//! ```
//!
//! | module | what it does |
//! |---|---|
//! | [`manifest`] | LOAD: the text of one `agent.json` as a typed value that knows its places; versions, package specifications, archive addresses |
//! | [`registry`] | LOAD: a registry directory and its quarantine list |
//! | [`config`] | LOAD: what `registry.toml` says |
//! | [`select`] | SELECT: the registry that a run is about, and which of its agents |
//! | [`edit`] | EDIT: changing a file of a registry, unless another program has changed it meanwhile |
//! | [`upstream`] | where agents are published: npm, the Python package index, GitHub; what they say of a package, a release or a repository |
//! | [`survey`] | GATHER: what the world outside says of everything that manifests name, each thing asked for once; and, put in beside it, how agents behave |
//! | [`check`] | CHECK: the rules, a file each, and the runner; a loaded registry, and a survey if there is one, to findings |
//! | [`handshake`] | HANDSHAKE: an agent is started, spoken to, judged and ended; a command to an outcome |
//! | [`examination`] | EXAMINE: an agent is tried by checks, a file each, that rest on pages of the protocol; a command to results |
//! | [`install`] | INSTALL: what a manifest names, put below a directory by npm, uv or the HTTP client; a distribution to a program |
//! | [`index`] | READ: a published index, leniently, with copies from one run to the next; a place to the agents it has |
//! | [`session`] | USE: the entry point of programs that use agents: open an index, choose an agent, install it, start it |
//! | [`resolve`] | RESOLVE: which version, for which platform, from where, by which runtime; an id to a plan |
//! | [`store`] | STORE: installed agents, versions side by side, with receipts and locks; a plan to a program that stays |
//! | [`lockfile`] | LOCK: versions with everything that says which bytes they are, to be the same elsewhere |
//! | [`update`] | UPDATE: what is installed, compared with what is offered now |
//! | [`doctor`] | DIAGNOSE: the runtimes, the directory of installed agents, and each of these; what is wrong, and what helps |
//! | [`login`] | SIGN IN: what an authentication method asks for, and whether the agent opens a session then; and the way out |
//! | [`verify`] | VERIFY: all agents of a registry, installed and checked, some at once; the capability snapshot |
//! | [`bump`] | BUMP: what the sources of an agent offer, the version it should move to, and the smallest change that takes it there |
//! | [`scaffold`] | SCAFFOLD: a new agent's folder, from what npm, the Python package index or GitHub says of it; the files of a new registry |
//! | [`propose`] | PROPOSE: updates as pull requests on GitHub |
//! | [`finding`] | what a check says: the one type between checks and reports |
//! | [`report`] | REPORT: findings and outcomes as text for people, and as JSON documents; findings as SARIF, GitHub Actions, Markdown |
//! | [`build`] | BUILD: a registry to its tree with the site and the history, in one call |
//! | [`tree`] | AGGREGATE: agents to the published tree, and the swap into place |
//! | [`history`] | LOAD: when agents came, changed and went, from git or a file |
//! | [`settings`] | SETTINGS: a program to what a client of the protocol reads to start it |
//! | [`diff`] | COMPARE: what has changed from one published index to another |
//! | [`site`] | RENDER: a published index to the pages of the catalog site |
//! | [`upload`] | PUBLISH: a built tree, sent to a directory or a bucket in an order in which no reader misses anything |
//! | [`server`] | a tree in memory, served over HTTP on this machine |
//! | [`archive`] | what is in a downloaded archive, whether it is safe and for which platform; unpacking it |
//! | [`net`] | which addresses this program will speak to, and the HTTP client: manners, retries, secrets, cache |
//! | [`cause`] | the line that says why a program failed, lifted out of all that it wrote |
//! | [`sys`] | the operating system: files, `git`, package managers, untrusted programs |
//! | [`digest`], [`json`], [`source`], [`text`], [`timestamp`] | the small things that the others share: SHA-256, JSON as it is written, places in a text, what must not be shown as it is, times |
//!
//! # Files
//!
//! | file | read or written by | what it is |
//! |---|---|---|
//! | `<id>/agent.json`, `<id>/icon.svg` | [`registry::Registry::load`] | an agent |
//! | `quarantine.json` | [`registry::Registry::load`] | agents that are published but not started or updated |
//! | `registry.toml` | [`config::Config::read`] | rule levels, the site, published views and withdrawn agents |
//! | `history.json` | [`history::History::parse`], [`site`] (published) | when agents came, changed and went |
//! | `~/.cache/acp-registry` | [`net::Cache`] | answers of earlier runs |
//! | `~/.cache/acp-registry/npm`, `uv` | [`install::PackageCache`] | what npm and uv have fetched |
//! | `~/.cache/acp-registry/indexes` | [`index::Copies`] | indexes as they were fetched last |
//! | `~/.local/share/acp-registry` | [`store`] | installed agents |
//! | `acp-registry.lock` | [`lockfile::LockFile`] | versions with all their digests |
//! | `schemas/*.json` | [`check::schema`] (embedded), [`tree`] (published) | the contracts |
//! | `schemas/cli/*.json` | [`site`] (embedded, published) | the JSON documents that commands print |
//! | `capabilities.json` | [`verify::Snapshot`] | what agents can do |
//! | `registry.json` and other views, `<id>.svg`, `SHA256SUMS` | [`tree`] | the published tree |
//! | `v*/`, `latest/`, `.acp-registry/` | [`upload`] | snapshots of that tree, the newest one, and what publishers tell each other |
//! | `index.html`, `agents/`, `assets/` and more ([`site::CONTENTS`]) | [`site`] | the catalog site, a part of that tree |
//! | `templates/init/`, `.github/` | [`scaffold`] (embedded) | what a new registry begins with |
//! | `templates/`, `crates/publish/src/site/assets/` | [`site`] (embedded) | what pages look like, and their scripts |

pub mod report;

pub use acp_registry_client::{doctor, index, install, lockfile, login, resolve, session, settings, store, update};
pub use acp_registry_core::{
    archive, cause, digest, json, manifest, net, registry, source, sums, sys, text, timestamp, upstream,
};
pub use acp_registry_examine::examination;
pub use acp_registry_gate::{bump, check, config, edit, finding, propose, scaffold, select, survey, verify};
pub use acp_registry_protocol::handshake;
pub use acp_registry_publish::{build, diff, history, server, site, tree, upload};

/// The examples of the documentation are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../docs/library.md")]
struct Library;

/// Those of the guide for authors of clients, too.
#[cfg(doctest)]
#[doc = include_str!("../docs/guides/client-author.md")]
struct ClientAuthor;
