//! EXAMINE: runs checks against an agent, each based on a page of the protocol's documentation.
//!
//! ```text
//! plan ─→ checks ─→ engine ─→ lane ─→ agent (messages, shape, client) ─→ results
//! ```
//!
//! * [`examine`]: the entry point, from the outcome of the handshake to an [`Examination`]
//! * [`ExaminationPlan`], [`Recipe`]: the checks to run, and how the agent reaches the scripted model
//! * [`Demand`]: the level up to which agents are examined, and the level that they must pass
//! * [`Level`]: the levels; each above `handshake` is a folder of checks
//! * [`Check`], [`CHECKS`], [`find`]: the checks, with their documentation
//! * [`Examination`], [`Examined`], [`CheckVerdict`]: the results, with their JSON form
//! * [`Record`], [`CheckRecord`]: results of an earlier examination, as read from that form
//!
//! Checks that need an agent in the same state share an instance, and form a group; two groups run at once. If a check
//! fails on an instance that another one has used, it is repeated on a new one, so that no check makes another fail.

mod agent;
mod ask;
mod cancelled;
mod check;
mod checks;
mod client;
mod config;
mod demand;
mod drafts;
mod engine;
mod forms;
mod kind;
mod lane;
mod level;
mod listing;
mod messages;
mod nes;
mod plan;
mod record;
mod result;
mod scripted;
mod server;
mod session;
mod shape;
mod turn;
mod unended;
mod unreached;
mod update;

pub use check::{Check, Force};
pub use checks::{CHECKS, find};
pub use demand::Demand;
pub use engine::examine;
pub use level::Level;
pub use plan::{ExaminationPlan, LIMIT, Recipe};
pub use record::{CheckRecord, Record};
pub use result::{CheckVerdict, Examination, Examined, VerdictCounts};
