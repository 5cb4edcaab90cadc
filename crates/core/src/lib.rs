//! Shared parts of `acp-registry`: archives, HTTP, processes and package sources. Shared parts that need no files, network or
//! processes are in `acp_registry_plan`, and re-exported.
//!
//! | module | what it does |
//! |---|---|
//! | [`archive`] | the contents of a downloaded archive: whether it is safe, its platform, unpacking |
//! | [`cause`] | finds the line that explains a failure in a program's output |
//! | [`entries`] | `entries.json`: how one agent of a published tree is found without the index |
//! | [`net`] | the HTTP client: allowed addresses, rate limits, retries, secrets, cache |
//! | [`registry`] | LOAD: a registry directory and its quarantine list |
//! | [`sums`] | `SHA256SUMS` |
//! | [`sys`] | the operating system: what this machine can run (Rosetta, glibc), files, runs `git` and package managers, untrusted programs |
//! | [`upstream`] | data about packages, releases and repositories from npm, the Python package index and GitHub, and their addresses, from the configuration of npm and of uv |

pub mod archive;
pub mod cause;
pub mod entries;
pub mod net;
pub mod registry;
pub mod sums;
pub mod sys;
pub mod upstream;

pub use acp_registry_plan::{digest, json, manifest, remedy, source, text, timestamp};
