//! The remedy for each error of building, serving and publishing a registry.

use std::io::ErrorKind;
use std::path::Path;

use acp_registry::config::ConfigError;
use acp_registry::host::fs::PathError;
use acp_registry::registry::LoadError;
use acp_registry::text::{nearest, quote};
use acp_registry::tree::{BuildError, TreeError};
use acp_registry::upload;

use crate::failure::{Failure, remedy};

/// For agents with errors.
pub(crate) const ERRORS: &str = "correct the errors; `acp-registry validate` lists them";

/// If the tree that `--previous` names cannot be read.
pub(crate) const PREVIOUS: &str = "name another published tree with --previous";

/// If the history cannot be continued from the tree that `--previous` names.
pub(crate) const HISTORY: &str = "name another tree with --previous, or a history with --history";

/// If pages cannot be rendered. No valid index should cause this.
pub(crate) const SITE: &str = "leave the site out with --no-site, and report this as a bug of acp-registry";

/// If a view cannot be rendered again, which no registry should cause.
pub(crate) const BUG: &str = "report this as a bug of acp-registry";

/// If a capability snapshot cannot be read.
pub(crate) const SNAPSHOT: &str = "name a file that `acp-registry verify --out` has written";

/// If an agent cannot have a network of its own.
pub(crate) const NETWORK: &str = "let agents reach this machine's network with `--network shared`";

/// If a rule is unknown, and no similar name exists.
pub(crate) const RULES: &str = "run `acp-registry rules` to see all rules";

/// The failure for a file that a flag names and that cannot be written.
pub(crate) fn unwritable(error: PathError, flag: &str) -> Failure {
    let help = path_remedy(&error, "create the directory or make it writable", "file", flag);
    Failure::unable(error).help(help)
}

/// The help if a path cannot be written: the remedy of the error, otherwise `usual`; or another path with `flag`.
fn path_remedy(error: &PathError, usual: &str, what: &str, flag: &str) -> String {
    // A file cannot be made into a directory by changing its permissions.
    let is_file = what == "directory" && error.path.is_file();
    let usual = if is_file { "remove the file" } else { usual };
    format!("{}, or name another {what} with {flag}", error.remedy().unwrap_or(usual))
}

/// The help if the registry directory cannot be read.
pub(crate) fn registry_remedy(error: &LoadError) -> String {
    let LoadError::Directory(PathError { path, error }) = error;
    match error.kind() {
        ErrorKind::NotFound => {
            format!("correct the path, or create a registry with `acp-registry init {}`", path.display())
        }
        ErrorKind::NotADirectory => "name the directory of a registry, which holds its `registry.toml`".to_owned(),
        _ => "make the directory readable, or name another with --registry-dir".to_owned(),
    }
}

/// The help if a path cannot be used, whatever its purpose.
pub(crate) fn file_system_remedy(error: &PathError) -> Option<&'static str> {
    error.remedy().or(match error.error.kind() {
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
            Some("remove the file in its place, or name another path")
        }
        ErrorKind::PermissionDenied => Some("make it readable and writable for your user, or name another path"),
        ErrorKind::ReadOnlyFilesystem => Some("name a path on a disk that can be written"),
        _ => None,
    })
}

/// The help if a tree cannot be built.
pub(crate) fn build_remedy(error: &BuildError) -> String {
    let known = match error {
        BuildError::Findings { agents } if agents.is_empty() => ERRORS,
        BuildError::Findings { .. } => {
            "correct the errors, or name a published tree with --previous, from which agents keep their last form"
        }
        BuildError::NoPrevious { .. } => "name a tree with a registry.json with --previous, or correct the errors",
        // A new registry without agents is recognized by its configuration.
        BuildError::Empty(root) if Path::new(root).join("registry.toml").is_file() => {
            "add an agent with `acp-registry new`"
        }
        BuildError::Empty(_) => "name the registry with --registry-dir, or add an agent with `acp-registry new`",
        BuildError::Withdrawn(_) => {
            "add an agent with `acp-registry new`, or remove an entry below `[withdrawn]` in registry.toml"
        }
        BuildError::Render(_) => BUG,
        BuildError::View { .. } | BuildError::Schema { .. } => return remedy::remedy(&error.remedy()),
        BuildError::Previous(error) => {
            return error.remedy.as_ref().map_or_else(|| PREVIOUS.to_owned(), remedy::remedy);
        }
    };
    known.to_owned()
}

/// The help if a tree cannot be written.
pub(crate) fn tree_remedy(error: &TreeError) -> String {
    let known = match error {
        TreeError::Path(error) => return path_remedy(error, "make the directory writable", "directory", "--out"),
        TreeError::Render(_) => BUG,
        TreeError::Foreign(..) => "name another directory with --out, or empty this one",
        TreeError::NoName(_) | TreeError::InRegistry(_) | TreeError::HoldsRegistry(_) => {
            "name another directory with --out, such as `dist`"
        }
    };
    known.to_owned()
}

/// The help if a configuration is invalid.
pub(crate) fn config_remedy(error: &ConfigError) -> String {
    match error {
        ConfigError::Read { .. } => "name a file that can be read with --config".to_owned(),
        ConfigError::Syntax { path, message } => {
            toml_remedy(message).unwrap_or_else(|| format!("correct {}", path.display()))
        }
        ConfigError::Invalid { path, .. } => format!("correct {}", path.display()),
    }
}

/// The help for common mistakes in TOML, found in the parser's message.
fn toml_remedy(message: &str) -> Option<String> {
    if let Some((_, rest)) = message.split_once("unknown field `") {
        let (field, known) = rest.split_once('`')?;
        let known = known.split('`').skip(1).step_by(2);
        return nearest(field, known).map(|near| format!("did you mean {}?", quote(near)));
    }
    let is_number = message.contains("expected u64") && message.contains("invalid type: string");
    if is_number {
        return Some("write a whole number, without quotes and units".to_owned());
    }
    // The message shows the line with the mistake after its number.
    let line = message.lines().filter_map(|line| line.split_once(" | ")).map(|(_, line)| line.trim());
    let mut keys = line.filter_map(|line| Some(line.split_once('=')?.0.trim()));
    let unquoted = keys.find(|key| key.contains('/') && !key.contains(['"', '\'']))?;
    Some(format!("quote the key: \"{unquoted}\""))
}

/// The help if a tree cannot be published.
pub(crate) fn publish_remedy(error: &upload::Error) -> String {
    use upload::Error;
    let known = match error {
        Error::NoTree { .. } => "make one with `acp-registry build`, or name one with --from",
        Error::Read { .. } | Error::Digest(_) => "build the tree again with `acp-registry build`",
        Error::Path(error) => {
            return path_remedy(error, "make the directory readable and writable", "directory", "--to");
        }
        Error::Store { remedy: Some(remedy), .. } | Error::Target { remedy, .. } => return remedy::remedy(remedy),
        Error::Store { .. } => "check the network, AWS_ENDPOINT_URL and AWS_REGION, and run it again",
        Error::Link(_) => "remove the link, or name the directory that is meant with --to",
        Error::Foreign(_) => "move it away, or name another place with --to",
        Error::Unpublished(_) => "name the place of a published tree with --to",
        Error::NoSnapshot(_) => "choose one that `acp-registry publish list` shows",
        Error::Unreadable { .. } | Error::Missing(_) | Error::Altered(_) => {
            "choose another snapshot, or restore the file from a copy"
        }
        Error::State { .. } => "remove it: every file is then compared with what is there",
        Error::Busy { .. } => "wait for it, or wait longer with --wait",
        Error::Lost(_) => "run it again when the other one is done",
        Error::Sign(_) => "correct the command of --sign",
    };
    known.to_owned()
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::PathBuf;

    use acp_registry::build;
    use acp_registry::host::fs::ReadError;
    use acp_registry::tree::PublishedError;

    use super::*;

    /// Every error of `build`, `serve` and `publish` has one remedy, which its message does not repeat.
    #[test]
    fn every_error_has_a_remedy() {
        let text = || "x".to_owned();
        let path = || PathBuf::from("x");
        let at = || PathError::at(Path::new("x"))(io::Error::other("no"));
        let failures: [Failure; 38] = [
            build::Error::History { file: "history.json", message: text() }.into(),
            build::PlaceError::Address { place: text(), message: text() }.into(),
            BuildError::Findings { agents: vec![] }.into(),
            BuildError::Findings { agents: vec![text()] }.into(),
            BuildError::NoPrevious { agents: vec![text()] }.into(),
            BuildError::Empty(text()).into(),
            BuildError::Withdrawn(text()).into(),
            BuildError::View { file: text(), message: text() }.into(),
            BuildError::Schema { path: text(), message: text() }.into(),
            BuildError::Previous(PublishedError::new("x", &"no")).into(),
            PublishedError::new("x", &"no").into(),
            TreeError::Path(at()).into(),
            TreeError::Foreign(path(), text()).into(),
            TreeError::NoName(path()).into(),
            TreeError::InRegistry(path()).into(),
            TreeError::HoldsRegistry(path()).into(),
            ConfigError::Read { path: path(), error: ReadError::NotFound }.into(),
            ConfigError::Syntax { path: path(), message: text() }.into(),
            ConfigError::Invalid { path: path(), message: text() }.into(),
            LoadError::Directory(at()).into(),
            upload::Error::NoTree { path: text(), why: text() }.into(),
            upload::Error::Read { path: text(), error: ReadError::NotFound }.into(),
            upload::Error::Digest(text()).into(),
            upload::Error::Path(at()).into(),
            upload::Error::Store { place: text(), message: text(), remedy: None }.into(),
            upload::Error::Store { place: text(), message: text(), remedy: Some("do it".into()) }.into(),
            upload::Error::Target { message: text(), remedy: "do it".into() }.into(),
            upload::Error::Link(text()).into(),
            upload::Error::Foreign(text()).into(),
            upload::Error::Unpublished(text()).into(),
            upload::Error::State { place: text(), message: text() }.into(),
            upload::Error::Busy { place: text(), holder: text() }.into(),
            upload::Error::Lost(text()).into(),
            upload::Error::Sign(text()).into(),
            upload::Error::NoSnapshot(text()).into(),
            upload::Error::Unreadable { place: text(), why: text() }.into(),
            upload::Error::Missing(text()).into(),
            upload::Error::Altered(text()).into(),
        ];
        for failure in failures {
            let (message, help) = (failure.to_string(), failure.advice());
            assert!(help.is_some_and(|help| !help.is_empty() && !message.contains(&help)), "{message}");
            assert!(!message.contains("--"), "{message}");
        }
    }
}
