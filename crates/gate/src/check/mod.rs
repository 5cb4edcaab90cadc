//! CHECK: a loaded registry to findings. Nothing here prints, and no rule knows of levels or output formats.
//!
//! * [`check()`]: runs every rule that is not switched off over the selected agents
//! * [`Rule`], [`RULES`]: the rules; each is a file below `rules/`, with its documentation inside
//! * [`Levels`]: defaults, `registry.toml` and flags, resolved in one place
//! * [`fix()`]: carries out the changes that findings offer
//! * `icon`: what the icon rules look at
//! * `schema`: the JSON Schemas

mod fix;
mod icon;
mod levels;
mod reporter;
mod rule;
mod rules;
mod run;
pub mod schema;

pub use fix::{Fixed, fix};
pub use levels::{Levels, UnknownRule};
pub use rule::{Example, Online, Rule};
pub use rules::{RULES, find};
pub use run::{AgentStatus, Checked, Options, Status, check};

pub use crate::select::Selection;
