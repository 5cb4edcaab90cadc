//! Examinations of an agent's conformance to the Agent Client Protocol.
//!
//! | module | what it does |
//! |---|---|
//! | [`examination`] | EXAMINE: starts an agent and runs checks, each based on a page of the protocol |

pub mod examination;
