//! Where programs are that a start without a shell does not find.
//!
//! An editor that was started from the desktop has a `PATH` without the directories that a shell's configuration adds,
//! and without the Node.js of a version manager. These directories are found by the documented layout of each manager;
//! no manager and no shell is run.

mod default;
mod managers;
mod versions;

use std::env::split_paths;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use acp_registry_host::owner::is_safe_for_programs;
use acp_registry_host::process::Environment;

/// The variable that names other directories instead of the usual ones.
const VARIABLE: &str = "ACP_REGISTRY_PATH";

/// The directories of the system that people's shells usually have in `PATH`.
const OF_SYSTEM: &[&str] = if cfg!(windows) {
    &[]
} else {
    &["/usr/local/bin", "/opt/local/bin", "/run/current-system/sw/bin", "/nix/var/nix/profiles/default/bin"]
};

/// The same, below the home directory.
const OF_HOME: &[&str] = &[".local/bin", ".cargo/bin", ".nix-profile/bin"];

/// Where Homebrew is.
const HOMEBREW: &[&str] = if cfg!(target_os = "macos") {
    &["/opt/homebrew", "/usr/local"]
} else if cfg!(target_os = "linux") {
    &["/home/linuxbrew/.linuxbrew"]
} else {
    &[]
};

/// The environment of a host for package managers and agents, from the variables of a person: those that hold no
/// secrets, with a longer `PATH`. At its end, it has the directories `first`, a Node.js of a version manager if there is no
/// other one, and the usual directories of the system and of the person, each only if no other user can change it. Further
/// programs of Node.js and Python that version managers have are found by
/// [`Environment::find_all`](acp_registry_host::process::Environment::find_all).
#[must_use]
pub fn host_environment(variables: &[(OsString, OsString)], first: impl IntoIterator<Item = PathBuf>) -> Environment {
    let mut environment = Environment::from_host(variables.iter().cloned());
    let get = |name: &str| {
        let is_named = |known: &OsString| if cfg!(windows) { known.eq_ignore_ascii_case(name) } else { known == name };
        variables.iter().find(|(known, _)| is_named(known)).map(|(_, value)| value.as_os_str())
    };
    let places = VariablePaths { get: &get };
    let safe = |directory: &PathBuf| is_safe_for_programs(directory);
    environment.append_to_path(first);
    let nodes = managers::nodes(&places);
    if environment.find("node").is_none() {
        environment.append_to_path(nodes.default.iter().find(|directory| safe(directory)).cloned());
    }
    environment.append_to_path(places.usual().into_iter().filter(safe));
    if environment.find("node").is_none() {
        environment.append_to_path(nodes.others.iter().find(|directory| safe(directory)).cloned());
    }
    environment
        .also_search(nodes.default.into_iter().chain(nodes.others).chain(managers::pythons(&places)).filter(safe));
    environment
}

/// The directories that the variables of a person name.
struct VariablePaths<'a> {
    get: &'a dyn Fn(&str) -> Option<&'a OsStr>,
}

impl VariablePaths<'_> {
    /// The absolute directory that a variable names.
    fn named(&self, name: &str) -> Option<PathBuf> {
        (self.get)(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    fn home(&self) -> Option<PathBuf> {
        self.named("HOME").or_else(|| self.named("USERPROFILE"))
    }

    /// The user's directory for the data of programs.
    fn data(&self) -> Option<PathBuf> {
        let of_system = || if cfg!(windows) { self.named("LOCALAPPDATA") } else { None };
        self.named("XDG_DATA_HOME").or_else(of_system).or_else(|| Some(self.home()?.join(".local/share")))
    }

    /// The user's directory for the configuration of programs.
    fn config(&self) -> Option<PathBuf> {
        self.named("XDG_CONFIG_HOME").or_else(|| Some(self.home()?.join(".config")))
    }

    /// The directories that a start without a shell may lack.
    fn usual(&self) -> Vec<PathBuf> {
        if let Some(named) = (self.get)(VARIABLE) {
            return split_paths(named).collect();
        }
        let of_home = self.home().into_iter().flat_map(|home| OF_HOME.iter().map(move |name| home.join(name)));
        let of_homebrew = self.homebrew().into_iter().map(|prefix| prefix.join("bin"));
        of_home.chain(of_homebrew).chain(OF_SYSTEM.iter().map(PathBuf::from)).collect()
    }

    fn homebrew(&self) -> Vec<PathBuf> {
        match (self.named("HOMEBREW_PREFIX"), (self.get)(VARIABLE)) {
            (Some(prefix), _) => vec![prefix],
            (None, Some(_)) => Vec::new(),
            (None, None) => HOMEBREW.iter().map(PathBuf::from).collect(),
        }
    }
}

/// A path that starts the same Node.js in later sessions: the directory that fnm makes for each shell is removed with
/// it, and a shim runs its manager, which then chooses by the working directory.
pub(super) fn lasting(program: PathBuf, version: Option<&str>, environment: &Environment) -> PathBuf {
    let has_part = |path: &Path, name: &str| path.components().any(|part| part.as_os_str() == name);
    let is_of_shell = has_part(&program, "fnm_multishells");
    let is_volta =
        || program.canonicalize().is_ok_and(|real| real.file_stem().is_some_and(|name| name == "volta-shim"));
    let is_shim = program.parent().is_some_and(|parent| parent.ends_with("shims")) || is_volta();
    if !is_of_shell && !is_shim {
        return program;
    }
    let kept = version.and_then(|version| {
        let with_v = format!("v{version}");
        environment.find_all("node").find(|path| has_part(path, version) || has_part(path, &with_v))
    });
    let real = || program.canonicalize().ok().filter(|_| is_of_shell);
    kept.or_else(real).unwrap_or(program)
}

#[cfg(unix)]
#[cfg(test)]
mod tests;
