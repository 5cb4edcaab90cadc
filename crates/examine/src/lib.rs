//! Examine how an agent keeps to the Agent Client Protocol.
//!
//! | module | what it does |
//! |---|---|
//! | [`examination`] | EXAMINE: an agent is started and tried by checks, a file each, that rest on pages of the protocol; a command to results |

pub mod examination;
