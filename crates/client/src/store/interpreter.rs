//! The interpreter of an agent, and whether it is still there.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::install::{Interpreter, Shortfall, better_node};
use acp_registry_core::sys::process::Environment;

/// An interpreter, as a receipt has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredInterpreter {
    /// Its name, by which it is found again when it has moved.
    pub name: String,
    /// Where it was when the agent was installed.
    pub program: PathBuf,
    /// Its flags, which come before the program's file.
    pub flags: Vec<String>,
    /// How it falls short of what the package requires; `None` when it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortfall: Option<StoredShortfall>,
}

/// The versions of the runtime, required and found when the agent was installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredShortfall {
    /// The versions that the package requires.
    pub wanted: String,
    /// The version of the interpreter.
    pub found: String,
}

impl StoredInterpreter {
    pub(super) fn of(interpreter: &Interpreter, shortfall: Option<&Shortfall>) -> Self {
        Self {
            name: interpreter.name.to_owned(),
            program: interpreter.program.clone(),
            flags: interpreter.flags.clone(),
            shortfall: shortfall
                .map(|shortfall| StoredShortfall { wanted: shortfall.wanted.clone(), found: shortfall.found.clone() }),
        }
    }

    /// The interpreter that starts the agent now, and whether it meets the package's requirements: the program of the
    /// receipt, or one in `PATH` if that is gone, or falls short and the other does not. The error is the name of the
    /// missing interpreter.
    pub(super) fn find(&self, environment: impl FnOnce() -> Environment) -> Result<(PathBuf, bool), String> {
        let kept = || self.program.is_file().then(|| self.program.clone());
        let Some(shortfall) = &self.shortfall else {
            let found = kept().or_else(|| environment().find(&self.name));
            return found.map(|program| (program, true)).ok_or_else(|| self.name.clone());
        };
        let environment = environment();
        if let Some(better) = better_node(&environment, &self.program, &shortfall.wanted) {
            return Ok((better, true));
        }
        let found = kept().or_else(|| environment.find(&self.name));
        found.map(|program| (program, false)).ok_or_else(|| self.name.clone())
    }

    /// How the interpreter falls short, if it is still the one that was found when the agent was installed.
    #[must_use]
    pub fn shortfall(&self) -> Option<Shortfall> {
        let StoredShortfall { wanted, found } = self.shortfall.clone()?;
        Some(Shortfall { runtime: "Node.js", wanted, found, place: Some(self.program.clone()) })
    }
}
