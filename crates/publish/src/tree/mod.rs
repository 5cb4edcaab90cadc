//! AGGREGATE: a checked registry to the published tree.
//!
//! * [`build()`]: builds a [`Tree`] in memory from a registry and its findings
//! * [`base_url`]: the address below which a tree is published
//! * [`Tree`]: the files of a published registry with their checksums; writes them to a directory
//! * [`PublishedTree`]: an earlier tree, from which agents with errors keep their published entry

mod build;
mod entries;
mod files;
mod index;
mod outcome;
mod part;
mod previous;
mod sources;
mod versions;

pub(crate) use build::HERE;
pub use build::{Built, TreeOptions, base_url, build};
pub use files::{Difference, INDEX, Tree, TreeError};
pub use outcome::{AgentOutcome, BuildError, BuiltAgent, LeftOutReason, NAMED};
pub use part::{FileDigest, Render, RenderError};
pub use previous::{PublishedError, PublishedTree, SignedTree, TreeDirectory};
pub(crate) use versions::list_path;
