//! SIGN IN: signs a person in by an authentication method, checks that the agent opens a session, and signs out.
//!
//! * [`SignInResult`]: its result, with its JSON form
//! * [`SignInResult::sign_in`], [`SignInResult::sign_out`], [`SignInResult::look`]: the requests to an agent in a conversation
//! * [`SignInResult::ask_for_variables`]: which variables the person sets
//! * [`in_terminal`]: how the agent's program is started in a terminal
//!
//! Everything that an agent says is checked by [`way`](acp_registry_protocol::handshake::AuthMethod::way) before it
//! comes here.

mod attempt;
mod terminal;

pub use attempt::{Needed, SignInResult, SignInStatus};
pub use terminal::{Stranger, in_terminal};
