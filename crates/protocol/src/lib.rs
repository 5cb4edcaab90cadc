//! Start an agent and speak the Agent Client Protocol to it.
//!
//! | module | what it does |
//! |---|---|
//! | [`handshake`] | HANDSHAKE: an agent is started, spoken to, judged and ended; a command to an outcome |

pub mod handshake;
