//! Read an index of agents, install agents, and start them.
//!
//! | module | what it does |
//! |---|---|
//! | [`session`] | USE: the entry point: open an index, choose an agent, install it, start it |
//! | [`index`] | READ: a published index, leniently, with copies from one run to the next; turns a path or URL into agents |
//! | [`resolve`] | RESOLVE: what this machine has for a plan: its platform, npm and uv |
//! | [`install`] | INSTALL: installs a distribution into a directory with npm, uv or the HTTP client; turns a distribution into a program |
//! | [`store`] | STORE: installed agents, with several versions side by side, receipts and locks; turns a plan into an installed program |
//! | [`lockfile`] | LOCK: records versions with their digests, so that the same bytes can be installed elsewhere |
//! | [`provenance`] | PROVENANCE: checks attestations of who has built a package or an archive; turns bundles into a publisher |
//! | [`doctor`] | DIAGNOSE: checks runtimes, the store and each installed agent; reports problems with remedies |
//! | [`login`] | SIGN IN: carries out an authentication method, refuses one that starts a program of others, and checks that the agent then opens a session; signs out |
//! | [`elsewhere`] | ELSEWHERE: runs this program on another machine, by `ssh` or in a distribution of WSL |
//! | [`ops`] | DO: what people ask for: find, install, update, repair, uninstall, diagnose, sign in |
//! | [`registry`] | LOAD: the folder of a registry: manifests, icons, the quarantine, recalled versions and lists of packages, as far as they can be read |
//! | [`settings`] | SETTINGS: generates the settings with which a client of the protocol starts an agent |

#![warn(missing_docs, clippy::must_use_candidate)]

pub mod doctor;
pub mod elsewhere;
pub mod index;
pub mod install;
pub mod lockfile;
pub mod login;
pub mod ops;
pub mod provenance;
pub mod registry;
pub mod resolve;
pub mod session;
pub mod settings;
pub mod store;

// Parts of this interface. `handshake` and `start` are those of `ops::Relay` and `ops::Step`.
pub use acp_registry_host::start;
pub use acp_registry_http as http;
pub use acp_registry_plan::{failure, manifest};
pub use acp_registry_protocol::handshake;

/// Compiles the examples of the guide for authors of clients with what such a client depends on.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guides/client-author.md")]
struct ClientAuthor;
