//! Builds the published tree of a registry with its catalog site, and uploads it.
//!
//! | module | what it does |
//! |---|---|
//! | [`build`] | BUILD: builds the tree of a registry with its site and history in one call |
//! | [`tree`] | AGGREGATE: turns agents into the published tree; replaces the output directory |
//! | [`diff`] | COMPARE: changes between two published indexes |
//! | [`site`] | RENDER: renders the catalog site from a published index |
//! | [`contents`] | the kinds of files in that tree: media types, and how long they are cached |
//! | [`server`] | serves a tree from memory over HTTP on this machine |
//! | [`upload`] | PUBLISH: sends a built tree to a directory or a bucket; readers always see a consistent tree |

pub mod build;
pub mod contents;
pub mod diff;
pub mod server;
pub mod site;
pub mod tree;
pub mod upload;
