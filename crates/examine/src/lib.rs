//! Examinations of an agent's conformance to the Agent Client Protocol.
//!
//! | module | what it does |
//! |---|---|
//! | [`examination`] | EXAMINE: starts an agent and runs checks, each based on a page of the protocol |
//! | [`mcp`] | an MCP server, which agents start, or reach over HTTP, during an examination |
//! | [`model`] | MODEL: a scripted language model on loopback, with which agents carry out turns without an account |

pub mod examination;
pub mod mcp;
pub mod model;
