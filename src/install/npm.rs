//! A package of the npm registry.

use std::fs::File;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::tool::Tool;
use super::{Error, Installer};
use crate::archive::Program;
use crate::manifest::{NpmSpec, Pin};
use crate::sys::fs::{read_bounded, resolve_below};
use crate::text::quote;
use crate::upstream::npm::{Bin, file_of_command};

/// The largest `package.json` that is read, in bytes.
const LIMIT: u64 = 8 << 20;

const REMEDY: &str = "install Node.js with npm";

/// Installs a package with npm; returns the program, and the agent's file where the program is Node.js.
pub(super) async fn install(
    installer: &Installer,
    package: &str,
    directory: &Path,
    temporary: &Path,
) -> Result<(PathBuf, Vec<String>), Error> {
    let spec: NpmSpec = package.parse().map_err(|error| Error::Spec { package: package.to_owned(), error })?;
    let Pin::Exact(version) = &spec.pin else { return Err(Error::Unpinned(package.to_owned())) };
    let find = |program: &'static str| {
        installer.environment.find(program).ok_or(Error::MissingRuntime { program, remedy: REMEDY })
    };
    let (npm, node) = (find("npm")?, find("node")?);
    let flags = [
        "install", "--location=project", "--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--no-progress",
        "--no-update-notifier", "--prefix",
    ];
    let mut arguments: Vec<String> = flags.map(ToOwned::to_owned).into();
    arguments.extend([directory.to_string_lossy().into_owned(), "--".to_owned(), format!("{}@{version}", spec.name)]);
    let environment = installer.environment_with(&installer.npm);
    let timeout = installer.timeout;
    Tool { name: "npm", program: npm, arguments, environment, directory, temporary, timeout }.run().await?;
    let file = command_file(&spec.name, directory)
        .map_err(|problem| Error::NoCommand { package: package.to_owned(), problem })?;
    let is_run_by_node = match File::open(&file).map(Program::examine) {
        Ok(Program::Other) => true,
        // The system knows nothing of first lines.
        Ok(Program::Script { interpreter }) => cfg!(windows) && interpreter.contains("node"),
        _ => false,
    };
    if !is_run_by_node {
        return Ok((file, Vec::new()));
    }
    Ok((node, vec![file.to_string_lossy().into_owned()]))
}

/// The file that `npx` would start, or what is wrong as the rest of a sentence about the package.
fn command_file(name: &str, directory: &Path) -> Result<PathBuf, String> {
    let folder = directory.join("node_modules").join(name);
    let unreadable = |error: &dyn std::fmt::Display| format!("has no package.json that can be read: {error}");
    let directory = directory.canonicalize().map_err(|error| unreadable(&error))?;
    let path = resolve_below(&folder.join("package.json"), &directory).map_err(|error| unreadable(&error))?;
    let text = read_bounded(&path, &directory, LIMIT).map_err(|error| unreadable(&error))?;
    let manifest: Value = serde_json::from_slice(&text).map_err(|error| unreadable(&error))?;
    let bin = manifest.get("bin");
    let command = match Bin::of(name, bin) {
        Bin::One(command) => command,
        Bin::None => return Err("has no command, so that npx has nothing to start".to_owned()),
        Bin::Several(commands) => {
            let shown: Vec<String> = commands.iter().take(5).map(|command| quote(command)).collect();
            return Err(format!("has {} commands ({}), and npx cannot choose", commands.len(), shown.join(", ")));
        }
    };
    let file = file_of_command(name, bin, &command).unwrap_or_default();
    resolve_below(&folder.join(&file), &directory).map_err(|_| {
        format!("has the command {}, but its file {} is not there or leads elsewhere", quote(&command), quote(&file))
    })
}
