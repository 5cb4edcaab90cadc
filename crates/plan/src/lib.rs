//! Manifests, indexes and plans: everything about an agent that can be decided without files, network or processes.
//!
//! Nothing here opens a file or a connection, or starts a program, so that it also runs as WebAssembly; `tests/it/architecture.rs`
//! checks that. Only [`Timestamp::now`](timestamp::Timestamp::now), for callers that have a machine, asks the clock.
//!
//! | module | what it does |
//! |---|---|
//! | [`manifest`] | LOAD: parses one `agent.json` into a typed value that knows its positions; versions, package specifications, archive URLs and the formats of archives that clients know |
//! | [`index`] | READ: parses the text of an index; turns it into agents, and says which it does not have |
//! | [`resolve`] | RESOLVE: which version, for which platform, from where, by which runtime; turns an id into a plan, or says why there is none, and what to install where a runtime is missing |
//! | [`closure`] | a package with all that it needs, each with its digest; which of them a machine needs |
//! | [`documents`] | the JSON documents that describe an index and a plan |
//! | [`duration`] | durations in flags and configurations |
//! | [`digest`] | SHA-256 of bytes |
//! | [`entries`] | `entries.json`: how one agent of a published tree is found without the index |
//! | [`failure`] | how every error is reported: a stable code, the message, one remedy |
//! | [`json`] | writes JSON, and parses untrusted JSON within limits |
//! | [`revocations`] | `revoked.json`: which versions a registry has recalled |
//! | [`statement`] | `statement.json`: what a registry has published, for a signature |
//! | [`position`] | positions in a text: line and column |
//! | [`sums`] | `SHA256SUMS` |
//! | [`text`] | untrusted text: quoting, control characters, suggestions for misspelled names |
//! | [`timestamp`] | times and dates in files and documents |
//! | [`versions`] | the versions that an index has had of an agent, with their entries |

#![warn(missing_docs, clippy::must_use_candidate)]

pub mod closure;
pub mod digest;
pub mod documents;
pub mod duration;
pub mod entries;
pub mod failure;
pub mod index;
pub mod json;
pub mod manifest;
pub mod position;
pub mod resolve;
pub mod revocations;
pub mod statement;
pub mod sums;
pub mod text;
pub mod timestamp;
pub mod versions;
