//! SCAFFOLD: the folder of a new agent, from what its source says, and the files of a new registry.
//!
//! ```text
//! package, repository ─ Scaffolder ─→ Draft ─ propose ─→ Proposal ─ place ─→ <id>/agent.json, <id>/icon.svg
//! ```
//!
//! * [`Addition`]: a new agent as a whole, from its id to what is left [`Todo`]
//! * [`Scaffolder`] asks npm, the Python package index or GitHub, and makes a [`Draft`]
//! * [`Ways`]: how it is started, found out by trying
//! * [`check_id`], [`propose`]: the same rules as everywhere decide what is fit for a registry; what breaks one is left out
//! * [`place`]: the folder appears in one step
//! * [`lay_out`]: a registry without agents, with the workflows that this project uses itself
//! * [`starter_icon`]: the initial letter of an id, until a better one is drawn
//!
//! What a source says is not trusted: it is bounded, put on one line, and freed of what cannot be seen; of addresses
//! only those by https are carried over.

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
pub use entry::{FILES, Proposal, check_id, place, propose};
pub use error::Error;
pub use icon::starter_icon;
pub use layout::{Layout, LayoutError, lay_out, pages_address, would_lay_out};
pub use layout_todo::LayoutTodo;
pub use origin::{Draft, GithubSpec, GithubSpecError, Origin, Scaffolder};
pub use todo::{Cause, Todo};
pub use ways::{PATIENCE, Ways};
