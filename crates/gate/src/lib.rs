//! Validate, verify and update a registry.
//!
//! | module | what it does |
//! |---|---|
//! | [`config`] | LOAD: what `registry.toml` says |
//! | [`select`] | SELECT: the registry that a run is about, and which of its agents |
//! | [`finding`] | what a check says: the one type between checks and reports |
//! | [`edit`] | EDIT: changing a file of a registry, unless another program has changed it meanwhile |
//! | [`survey`] | GATHER: what the world outside says of everything that manifests name, each thing asked for once; and, put in beside it, how agents behave |
//! | [`check`] | CHECK: the rules, a file each, and the runner; a loaded registry, and a survey if there is one, to findings |
//! | [`verify`] | VERIFY: all agents of a registry, installed and checked, some at once; the capability snapshot |
//! | [`bump`] | BUMP: what the sources of an agent offer, the version it should move to, and the smallest change that takes it there |
//! | [`scaffold`] | SCAFFOLD: a new agent's folder, from what npm, the Python package index or GitHub says of it; the files of a new registry |
//! | [`propose`] | PROPOSE: updates as pull requests on GitHub |

pub mod bump;
pub mod check;
pub mod config;
pub mod edit;
pub mod finding;
pub mod propose;
pub mod scaffold;
pub mod select;
pub mod survey;
pub mod verify;
