//! SIGN IN: signs a person in by an authentication method, checks that the agent opens a session, and signs out.
//!
//! * [`Attempt`]: its result, with its JSON form
//! * [`Attempt::sign_in`], [`Attempt::sign_out`], [`Attempt::look`]: the requests to an agent in a conversation
//! * [`Attempt::ask_for_variables`]: which variables the person sets
//! * [`in_terminal`]: how the agent's program is started in a terminal
//!
//! Everything that an agent says is checked by [`way`](acp_registry_protocol::handshake::AuthMethod::way) before it
//! comes here.

mod attempt;
mod terminal;

pub use attempt::{Attempt, Needed, Status};
pub use terminal::{Stranger, in_terminal};
