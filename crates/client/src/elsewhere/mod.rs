//! ELSEWHERE: runs this program on another machine, by `ssh` or in a distribution of WSL, as if it ran here.
//!
//! * [`Machine`]: the other machine
//! * [`Connection`]: finds this program there, or copies it there, and has it carry out an [`Order`]
//! * [`serve`]: this program on the other side: starts itself with the order's arguments, and ends with the connection
//!
//! `ssh` and its configuration decide how a host is reached and who signs in. The shell of the other side gets one
//! constant script; arguments and variables go through the connection, so that no shell and no list of processes sees them.

mod connection;
mod error;
mod frame;
mod machine;
#[cfg(unix)]
mod service;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

pub use connection::{Connection, PATIENCE};
pub use error::Error;
pub use machine::{Machine, WrongMachine};
#[cfg(unix)]
pub use service::serve;

/// The first argument of this program when it serves a connection.
pub const ELSEWHERE: &str = "__elsewhere";

/// How often each side says that it is there.
const BEAT: Duration = Duration::from_secs(20);

/// How long a side may be silent before the connection counts as lost.
const SILENCE: Duration = Duration::from_mins(3);

/// The number of the signal on all Unix systems.
#[cfg(unix)]
const KILL: u8 = 9;

/// The pieces of a stream; closed at its end.
pub type Input = mpsc::Receiver<Vec<u8>>;

/// Writes a piece of a stream as a whole.
pub type Output = Arc<dyn Fn(&[u8]) -> io::Result<()> + Send + Sync>;

/// What this program is to do on the other side.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Order {
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Variables of the environment. Their values may be secrets.
    pub variables: Vec<(String, String)>,
}

impl Order {
    /// Without variables.
    #[must_use]
    pub fn new(arguments: Vec<String>) -> Self {
        Self { arguments, variables: Vec::new() }
    }
}

impl fmt::Debug for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Order").field("arguments", &self.arguments).finish_non_exhaustive()
    }
}
