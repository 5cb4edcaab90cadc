//! EXAMINE: an agent is tried by checks that each rest on a page of the protocol.
//!
//! ```text
//! level ─→ checks ─→ engine ─→ agent (connection, messages, shape) ─→ results
//! ```
//!
//! * [`examine`]: the whole of it, from the outcome of the handshake to an [`Examination`]
//! * [`Demand`]: how far agents are examined, and how far they must pass
//! * [`Level`]: how far an examination goes; each above `handshake` is a folder of checks
//! * [`Check`], [`CHECKS`], [`find`]: what is examined, with its documentation
//! * [`Examination`], [`Examined`], [`Verdict`]: what was found, with its JSON form
//!
//! A check speaks to an agent of its own, or to one that other checks have spoken to before and that has answered them all.
//! One that fails there is repeated alone, so that no check makes another fail.

mod agent;
mod check;
mod checks;
mod demand;
mod engine;
mod level;
mod messages;
mod result;
mod shape;

pub use check::{Check, Force};
pub use checks::{CHECKS, find};
pub use demand::Demand;
pub use engine::{LIMIT, examine};
pub use level::Level;
pub use result::{Examination, Examined, Summary, Verdict};
