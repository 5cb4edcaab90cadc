//! SIGN IN: signs a person in by an authentication method, checks that the agent opens a session, and signs out.
//!
//! * [`SignInResult`]: its result, with its JSON form
//! * [`SignInResult::sign_in`], [`SignInResult::sign_out`], [`SignInResult::look`]: the requests to an agent in a conversation
//! * [`SignInResult::ask_for_variables`]: which variables the person sets
//! * [`in_terminal`]: how the agent's program is started in a terminal
//!
//! Everything that an agent says is checked by [`way`](acp_registry_protocol::handshake::AuthMethod::way) before it
//! comes here.

mod result;

use std::path::Path;

use acp_registry_plan::text::printable;
use acp_registry_protocol::handshake::TerminalWay;
pub use result::{Needed, SignInResult, SignInStatus};

use crate::install::Start;
use crate::store::Version;

/// The method names a program other than the agent's own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the method wants another program than the agent's own to be started: {}", shown(command))]
pub struct Stranger {
    command: String,
}

/// The whole command line, for a person to run.
fn shown(command: &str) -> String {
    let cut: String = command.chars().take(1000).collect();
    printable(&cut).into_owned()
}

/// How the agent's program is started to sign the person in: with its usual arguments and variables, then those of the
/// method.
///
/// A method below `_meta` names a whole command line. It is accepted only if its program is the agent's own; its
/// arguments then replace the usual ones. The program that is started is always the installed one.
///
/// # Errors
/// [`Stranger`]
pub fn in_terminal(version: &Version, start: Start, way: TerminalWay) -> Result<Start, Stranger> {
    let Start { program, mut args, mut env, beside } = start;
    let TerminalWay { command, args: mut more, env: variables } = way;
    if let Some(command) = command {
        let own = version.program();
        // The arguments of the interpreter, which come before those of the manifest.
        let usual = args.len().saturating_sub(version.receipt.source.arguments().len());
        let is_interpreter = usual > 0 && (is_same(&command, &program) || is_named(&command, &program));
        if is_interpreter && more.first().is_some_and(|file| is_same(file, &own)) {
            more.remove(0);
        } else if !is_same(&command, &own) && !names_file(&command, &own) {
            let command = [command].into_iter().chain(more).collect::<Vec<_>>().join(" ");
            return Err(Stranger { command });
        }
        args.truncate(usual);
    }
    args.extend(more);
    env.retain(|(name, _)| variables.iter().all(|(other, _)| other != name));
    env.extend(variables);
    Ok(Start { program, args, env, beside })
}

/// Whether a path leads to this file.
fn is_same(path: &str, file: &Path) -> bool {
    let path = Path::new(path);
    path.is_absolute() && matches!((path.canonicalize(), file.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// Whether a path, which may exist on its author's machine only, ends with the name of this file.
fn is_named(path: &str, file: &Path) -> bool {
    Path::new(path).file_name().is_some_and(|name| Some(name) == file.file_name())
}

/// Whether a name without folders is that of this file, with or without its ending.
fn names_file(name: &str, file: &Path) -> bool {
    let names = [file.file_name(), file.file_stem()];
    Path::new(name).components().count() == 1 && names.contains(&Some(name.as_ref()))
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    fn way(command: Option<&str>, args: &[&str]) -> TerminalWay {
        TerminalWay {
            command: command.map(ToOwned::to_owned),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: vec![("EXAMPLE".to_owned(), "2".to_owned())],
        }
    }

    /// What is started for a version below `folder`, with an interpreter before its file or not.
    fn start(folder: &Path, has_interpreter: bool, way: TerminalWay) -> Result<String, String> {
        let receipt = json!({
            "schema": 1, "id": "a", "version": "1", "platform": null, "program": "agent.js", "program_size": 0,
            "program_stamp": { "modified": 0, "changed": 0 },
            "source": { "npx": { "package": "p@1", "args": ["acp"], "env": {} } }, "proof": { "verified": "none" },
            "index_sha256": null, "installed_at": "", "size": 0, "remarks": {},
        });
        let receipt = serde_json::from_value(receipt).unwrap();
        let version = Version { directory: folder.to_owned(), receipt };
        let own = version.program().to_str().unwrap().to_owned();
        let env = vec![("EXAMPLE".to_owned(), "1".to_owned()), ("OTHER".to_owned(), "1".to_owned())];
        let launch = if has_interpreter {
            Start {
                program: "/opt/node".into(),
                args: vec!["--flag".into(), own, "acp".into()],
                env,
                beside: Vec::new(),
            }
        } else {
            Start { program: own.into(), args: vec!["acp".into()], env, beside: Vec::new() }
        };
        let launch = in_terminal(&version, launch, way).map_err(|error| error.to_string())?;
        let env: Vec<String> = launch.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(env, ["OTHER=1", "EXAMPLE=2"]);
        let line = format!("{} {}", launch.program.display(), launch.args.join(" "));
        Ok(line.replace(folder.to_str().unwrap(), "$"))
    }

    #[test]
    fn arguments_come_behind_the_usual_ones() {
        let folder = Path::new("/nowhere");
        assert_eq!(start(folder, false, way(None, &["--setup"])).unwrap(), "$/agent.js acp --setup");
        assert_eq!(start(folder, true, way(None, &[])).unwrap(), "/opt/node --flag $/agent.js acp");
    }

    #[test]
    fn a_command_line_counts_as_far_as_it_names_the_agent() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let own = folder.join("agent.js");
        fs::write(&own, "").unwrap();
        fs::write(folder.join("other.js"), "").unwrap();
        let link = folder.join("link");
        std::os::unix::fs::symlink(&own, &link).unwrap();
        let (own, link, other) = (own.to_str().unwrap(), link.to_str().unwrap(), folder.join("other.js"));
        let other = other.to_str().unwrap();
        for (has_interpreter, command, args, expected) in [
            (false, own, &["login"][..], "$/agent.js login"),
            (false, link, &["login"], "$/agent.js login"),
            (false, "agent", &["auth", "login"], "$/agent.js auth login"),
            (true, "/elsewhere/bin/node", &[link, "login"], "/opt/node --flag $/agent.js login"),
            (true, own, &["login"], "/opt/node --flag $/agent.js login"),
        ] {
            assert_eq!(start(folder, has_interpreter, way(Some(command), args)).unwrap(), expected, "{command}");
        }
        for (has_interpreter, command, args) in [
            (false, "/bin/sh", &["-c", "true"][..]),
            (false, "/elsewhere/agent", &[]),
            (false, "../agent", &[]),
            (false, "node", &[own]),
            (true, "node", &[other, "login"]),
            (true, "node", &["-e", "1", own]),
            (true, "/bin/sh", &[own]),
            (false, "", &[]),
        ] {
            let error = start(folder, has_interpreter, way(Some(command), args)).unwrap_err();
            assert!(error.starts_with("the method wants another program"), "{error}");
        }
    }
}
