//! Shared parts of `acp-registry`: manifests, archives, HTTP, processes and package sources.
//!
//! | module | what it does |
//! |---|---|
//! | [`archive`] | the contents of a downloaded archive: whether it is safe, its platform, unpacking |
//! | [`cause`] | finds the line that explains a failure in a program's output |
//! | [`digest`] | SHA-256 of bytes and files |
//! | [`entries`] | `entries.json`: how one agent of a published tree is found without the index |
//! | [`json`] | writes JSON, and parses untrusted JSON within limits |
//! | [`manifest`] | LOAD: parses one `agent.json` into a typed value that knows its positions; versions, package specifications, archive URLs |
//! | [`net`] | the HTTP client: allowed addresses, rate limits, retries, secrets, cache |
//! | [`registry`] | LOAD: a registry directory and its quarantine list |
//! | [`remedy`] | what to do about an error, without the flags of a program |
//! | [`source`] | positions in a text: line and column |
//! | [`sums`] | `SHA256SUMS` |
//! | [`sys`] | the operating system: files, `git`, package managers, untrusted programs |
//! | [`text`] | untrusted text: quoting, control characters, suggestions for misspelled names |
//! | [`timestamp`] | times and dates in files and documents |
//! | [`upstream`] | data about packages, releases and repositories from npm, the Python package index and GitHub |

pub mod archive;
pub mod cause;
pub mod digest;
pub mod entries;
pub mod json;
pub mod manifest;
pub mod net;
pub mod registry;
pub mod remedy;
pub mod source;
pub mod sums;
pub mod sys;
pub mod text;
pub mod timestamp;
pub mod upstream;
