//! Write the published tree of a registry with its catalog site, and send it to a host.
//!
//! | module | what it does |
//! |---|---|
//! | [`build`] | BUILD: a registry to its tree with the site and the history, in one call |
//! | [`tree`] | AGGREGATE: agents to the published tree, and the swap into place |
//! | [`history`] | LOAD: when agents came, changed and went, from git or a file |
//! | [`diff`] | COMPARE: what has changed from one published index to another |
//! | [`site`] | RENDER: a published index to the pages of the catalog site |
//! | [`server`] | a tree in memory, served over HTTP on this machine |
//! | [`upload`] | PUBLISH: a built tree, sent to a directory or a bucket in an order in which no reader misses anything |

pub mod build;
pub mod diff;
pub mod history;
pub mod server;
pub mod site;
pub mod tree;
pub mod upload;
