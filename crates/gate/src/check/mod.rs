//! Checks a loaded registry and returns findings. Rules print nothing, and know neither levels nor output formats.
//!
//! * [`check()`]: runs all rules that are not off over the selected agents
//! * [`Rule`], [`RULES`]: the rules; each has a file in `rules/` with its documentation
//! * [`Levels`]: resolves defaults, `registry.toml` and flags
//! * [`fix()`]: applies the fixes of findings
//! * `icon`: the parsed icon that icon rules read
//! * `schema`: the JSON Schemas

mod fix;
mod icon;
mod levels;
mod options;
mod reporter;
mod rule;
mod rules;
mod run;
pub mod schema;
mod schema_remedy;

pub use fix::{Fixed, fix};
pub use icon::draw_icon;
pub use levels::{Levels, UnknownRule};
pub use options::CheckOptions;
pub use rule::{Example, Online, Rule};
pub use rules::{RULES, find, rule_of_reason, rule_of_runner};
pub use run::{AgentStatus, CheckOutcome, Checked, check};

pub use crate::select::Selection;
