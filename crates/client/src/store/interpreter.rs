//! The interpreter of an agent, and whether it is still there.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::install::{Interpreter, Shortfall, better_node, node_version};
use acp_registry_host::process::Environment;

/// An interpreter, as a receipt has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredInterpreter {
    /// Its name, by which it is found again when it has moved.
    pub name: String,
    /// Where it was when the agent was installed.
    pub program: PathBuf,
    /// Its flags, which come before the program's file.
    pub flags: Vec<String>,
    /// Its version when the agent was installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The versions that the package requires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted: Option<String>,
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
            version: interpreter.version.clone(),
            wanted: interpreter.wanted.clone(),
            shortfall: shortfall
                .map(|shortfall| StoredShortfall { wanted: shortfall.wanted.clone(), found: shortfall.found.clone() }),
        }
    }

    /// The interpreter that starts the agent now, and whether it meets the package's requirements: the program of the
    /// receipt, or another one of the environment if that is gone, or falls short and the other does not. The error is the
    /// name of the missing interpreter.
    pub(super) fn find(&self, environment: impl FnOnce() -> Environment) -> Result<(PathBuf, bool), String> {
        let kept = || self.program.is_file().then(|| self.program.clone());
        if self.shortfall.is_none()
            && let Some(program) = kept()
        {
            return Ok((program, true));
        }
        let environment = environment();
        let of_shortfall = self.shortfall.as_ref().map(|shortfall| &shortfall.wanted);
        let Some(wanted) = of_shortfall.or(self.wanted.as_ref()) else {
            let found = environment.find(&self.name);
            return found.map(|program| (program, true)).ok_or_else(|| self.name.clone());
        };
        if let Some((better, _)) = better_node(&environment, &self.program, wanted) {
            return Ok((better, true));
        }
        let found = kept().or_else(|| environment.find(&self.name));
        found.map(|program| (program, false)).ok_or_else(|| self.name.clone())
    }

    /// Records the interpreter that starts the agent now, as [`Self::find`] has found it. Returns whether it has changed.
    pub(super) fn follow(&mut self, program: PathBuf, is_met: bool) -> bool {
        if program == self.program && is_met == self.shortfall.is_none() {
            return false;
        }
        self.version = node_version(&program);
        self.program = program;
        let wanted = self.shortfall.take().map(|shortfall| shortfall.wanted).or_else(|| self.wanted.clone());
        let both = wanted.zip(self.version.clone()).filter(|_| !is_met);
        self.shortfall = both.map(|(wanted, found)| StoredShortfall { wanted, found });
        true
    }

    /// How the interpreter falls short, if it is still the one that was found when the agent was installed.
    #[must_use]
    pub fn shortfall(&self) -> Option<Shortfall> {
        let StoredShortfall { wanted, found } = self.shortfall.clone()?;
        Some(Shortfall { runtime: "Node.js", wanted, found, place: Some(self.program.clone()) })
    }
}
