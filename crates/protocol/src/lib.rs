//! Starts an agent and exchanges messages of the Agent Client Protocol with it.
//!
//! | module | what it does |
//! |---|---|
//! | [`handshake`] | HANDSHAKE: starts an agent, sends requests, judges the answers, and ends it |

#![warn(missing_docs, clippy::must_use_candidate)]

pub mod handshake;
