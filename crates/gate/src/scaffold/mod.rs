//! Creates the folder of a new agent from its package or repository, and the files of a new registry.
//!
//! ```text
//! package, repository ─ Scaffolder ─→ Draft ─ propose ─→ Proposal ─ place ─→ <id>/agent.json, <id>/icon.svg
//! ```
//!
//! * [`Addition`]: adds an agent, from its id to the remaining steps ([`Todo`])
//! * [`Scaffolder`]: asks npm, PyPI or GitHub, and creates a [`Draft`]
//! * [`Ways`]: finds the arguments that start the agent
//! * [`propose`]: applies the rules; optional members that break one are left out
//! * [`place`]: writes the agent's folder in one step
//! * [`lay_out`]: creates a registry without agents, with the workflows that this project uses itself
//!
//! A new agent's icon is the initial letter of its id, until there is a better one.
//!
//! Data of sources is not trusted: texts are shortened to one line without invisible characters, and only URLs with
//! https are used.

mod addition;
mod assets;
mod entry;
mod error;
mod icon;
mod layout;
mod layout_todo;
mod letters;
mod manifest;
mod origin;
mod packages;
mod program;
mod releases;
mod todo;
mod ways;
mod words;

pub use addition::{Added, Addition};
use entry::check_id;
pub use entry::{FILES, Proposal, place, propose};
pub use error::Error;
use icon::starter_icon;
use layout::pages_address;
pub use layout::{Layout, LayoutError, lay_out, would_lay_out};
pub use layout_todo::LayoutTodo;
pub use origin::{Draft, GithubSpec, GithubSpecError, NewOrigin, Scaffolder};
pub use todo::{Cause, Todo};
pub use ways::{PATIENCE, Ways};
