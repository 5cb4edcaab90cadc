//! AGGREGATE: a checked registry to the published tree.
//!
//! * [`build()`]: registry and findings to a [`Tree`], without touching the disk
//! * [`Tree`]: the files of a published registry, their checksums, and the swap into place
//! * [`Published`]: an earlier tree, from which a failing agent keeps its last published form

mod build;
mod entry;
mod files;
mod previous;
mod sources;

pub use build::{BuildError, Built, BuiltAgent, Options, Outcome, Reason, brief_list, build};
pub use files::{Content, Difference, Tree, TreeError};
pub use previous::{Directory, Published, PublishedError};
