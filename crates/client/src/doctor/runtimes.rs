//! The runtimes that agents need.

use std::path::Path;
use std::time::Duration;

use super::Diagnosis;
use crate::install::remedy;
use acp_registry_host::command::answer;
use acp_registry_host::process::Environment;
use acp_registry_plan::text::{escape, printable};

/// How long a runtime may take to print its version.
const PATIENCE: Duration = Duration::from_secs(10);

/// Program, what it is for, and how to get it.
const RUNTIMES: [(&str, &str, &str); 3] = [
    ("node", "agents from npm start only with a Node.js that an installation has recorded", remedy::NODE),
    ("npm", "agents from npm cannot be installed", remedy::NODE),
    ("uv", "agents from the Python package index cannot be installed", remedy::UV),
];

/// Looks for every runtime, and asks it for its version.
pub(super) fn look(environment: &Environment, directory: &Path) -> Vec<Diagnosis> {
    RUNTIMES.map(|runtime| look_for(runtime, environment, directory)).into()
}

fn look_for(
    (name, loss, help): (&'static str, &str, &'static str),
    environment: &Environment,
    directory: &Path,
) -> Diagnosis {
    let Some(path) = environment.find(name) else {
        return Diagnosis::warning(name, format!("is not in PATH: {loss}"), help);
    };
    let path = path.display().to_string();
    let place = printable(&path);
    let error = |message: String| {
        let message = format!("{place} --version {message}");
        Diagnosis::error(name, message, format!("see what `{place} --version` says, and install it again"))
    };
    // npm is a script that the Node.js in `PATH` runs.
    let variable = environment.path().map(|(_, value)| value);
    let text = match answer(&path, &["--version"], directory, PATIENCE, variable) {
        Ok(text) => text,
        Err(cause) => return error(cause.to_string()),
    };
    // A batch file may echo its own lines before.
    let Some(version) = text.lines().map(str::trim).rfind(|line| !line.is_empty()) else {
        return error("prints nothing".to_owned());
    };
    Diagnosis::ok(name, format!("{}, {place}", escape(version)))
}
