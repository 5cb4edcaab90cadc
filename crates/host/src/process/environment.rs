//! The environment variables of a program, and where it finds other programs.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Variables of the host that describe the system rather than the user.
const ALLOWED: &[&str] = &[
    // Paths of programs, and locale.
    "PATH", "LANG", "LANGUAGE", "TZ", // Certificate authorities of private networks.
    "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE",
    // Windows starts no program without these.
    "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "OS", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE",
    "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "PROGRAMDATA", "COMMONPROGRAMFILES",
];

/// Proxy settings, which are inherited unless they contain a password.
const PROXIES: &[&str] = &["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"];

/// The environment variables of a program: those of [`Environment::from_host`] or [`Environment::for_person`], and more.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
    /// Directories that are searched for programs after those in `PATH`.
    more: Vec<PathBuf>,
}

impl Environment {
    /// The variables of the host that a program may see, by a short list. This excludes tokens and keys, settings that load
    /// code, and access to the user's desktop and keyring. `TERM` is set to `dumb`.
    pub fn from_host(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let mut environment = Self::for_person(variables.into_iter().filter(|(name, value)| may_pass(name, value)));
        environment.set("TERM", "dumb");
        environment
    }

    /// All variables of the host, for a program that works on the user's behalf.
    pub fn for_person(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self { variables: variables.into_iter().collect(), more: Vec::new() }
    }

    /// Sets a variable.
    pub fn set(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
        self.variables.insert(name.into(), value.into());
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// The variable `PATH`, as the system spells its name, and its value.
    pub fn path(&self) -> Option<(&OsStr, &OsStr)> {
        let is_path = |name: &OsString| if cfg!(windows) { name.eq_ignore_ascii_case("PATH") } else { name == "PATH" };
        let (name, value) = self.variables.iter().find(|(name, _)| is_path(name))?;
        Some((name, value))
    }

    /// Appends directories to `PATH` that it does not have yet. Relative ones are left out, and so is everything when
    /// there is no `PATH`: the system then has a default, which a short `PATH` would replace.
    pub fn append_to_path(&mut self, directories: impl IntoIterator<Item = PathBuf>) {
        let Some((name, value)) = self.path().filter(|(_, value)| !value.is_empty()) else { return };
        let mut all: Vec<PathBuf> = std::env::split_paths(value).collect();
        let known = all.len();
        for directory in directories {
            if directory.is_absolute() && !all.contains(&directory) {
                all.push(directory);
            }
        }
        // The existing value stays as it is spelled. A directory with a separator in its name cannot be in `PATH`.
        let joined: Vec<OsString> = all.drain(known..).filter_map(|new| std::env::join_paths([new]).ok()).collect();
        let (name, mut value) = (name.to_owned(), value.to_owned());
        for new in joined {
            value.push(if cfg!(windows) { ";" } else { ":" });
            value.push(new);
        }
        self.variables.insert(name, value);
    }

    /// Searches these directories for programs, too, after those in `PATH`. Programs with this environment do not.
    pub fn also_search(&mut self, directories: impl IntoIterator<Item = PathBuf>) {
        self.more.extend(directories.into_iter().filter(|directory| directory.is_absolute()));
    }

    /// The path of a program in the environment's `PATH`. Relative directories in `PATH` are ignored.
    pub fn find(&self, program: &str) -> Option<PathBuf> {
        self.find_all(program).next()
    }

    /// The paths of all programs with this name in the environment's `PATH`, in order, and then of those in
    /// [other directories](Self::also_search).
    pub fn find_all(&self, program: &str) -> impl Iterator<Item = PathBuf> {
        let endings: &[&str] = if cfg!(windows) { &[".exe", ".cmd", ".bat"] } else { &[""] };
        let path = self.path().map(|(_, path)| path);
        let folders = path.into_iter().flat_map(std::env::split_paths).filter(|folder| folder.is_absolute());
        let folders = folders.chain(self.more.iter().cloned());
        folders
            .flat_map(move |folder| endings.iter().map(move |ending| folder.join(format!("{program}{ending}"))))
            .filter(|file| is_executable(file))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&OsString, &OsString)> {
        self.variables.iter()
    }
}

/// Whether a path is an executable file.
pub fn is_executable(file: &std::path::Path) -> bool {
    let Ok(metadata) = file.metadata() else { return false };
    #[cfg(unix)]
    let may_run = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let may_run = true;
    metadata.is_file() && may_run
}

fn may_pass(name: &OsStr, value: &OsStr) -> bool {
    let Some(name) = name.to_str().map(str::to_ascii_uppercase) else { return false };
    if value.is_empty() {
        return false;
    }
    if PROXIES.contains(&name.as_str()) {
        return !value.to_string_lossy().contains('@');
    }
    ALLOWED.contains(&name.as_str()) || name.starts_with("LC_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(variables: &[(&str, &str)]) -> Environment {
        Environment::from_host(variables.iter().map(|(name, value)| ((*name).into(), (*value).into())))
    }

    #[test]
    fn secrets_stay_behind() {
        let names = [
            "GITHUB_TOKEN", "NPM_TOKEN", "ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK", "HOME",
            "DBUS_SESSION_BUS_ADDRESS", "XDG_CONFIG_HOME", "NODE_OPTIONS", "LD_PRELOAD", "npm_config_registry",
        ];
        let environment = from(&names.map(|name| (name, "secret")));
        assert_eq!(environment, from(&[]));
    }

    #[test]
    fn what_every_program_needs_passes() {
        let environment = from(&[("PATH", "/bin"), ("LC_ALL", "C"), ("SystemRoot", "C:\\Windows"), ("TERM", "xterm")]);
        assert_eq!(environment.get("PATH"), Some("/bin".as_ref()));
        assert_eq!(environment.get("LC_ALL"), Some("C".as_ref()));
        assert_eq!(environment.get("SystemRoot"), Some("C:\\Windows".as_ref()));
        assert_eq!(environment.get("TERM"), Some("dumb".as_ref()));
    }

    #[cfg(unix)]
    #[test]
    fn a_path_is_extended_at_its_end_only() {
        let extended = |path: &str| {
            let mut environment = from(&[("PATH", path)]);
            environment.append_to_path(["/new", "relative", "/bin", "/a:b", "/new", "/last"].map(PathBuf::from));
            environment.get("PATH").map(OsStr::to_owned)
        };
        assert_eq!(extended("/bin:/usr/bin"), Some("/bin:/usr/bin:/new:/last".into()));
        assert_eq!(extended("/bin::."), Some("/bin::.:/new:/last".into()));
        assert_eq!(extended(""), None);
    }

    #[cfg(unix)]
    #[test]
    fn further_directories_are_searched_last_and_not_passed_on() {
        let folder = tempfile::tempdir().unwrap();
        let mut environment = from(&[("PATH", "/bin")]);
        let program = folder.path().join("sh");
        std::fs::copy("/bin/sh", &program).unwrap();
        environment.also_search([folder.path().to_owned(), PathBuf::from("relative")]);
        assert_eq!(environment.find_all("sh").collect::<Vec<_>>(), [PathBuf::from("/bin/sh"), program]);
        assert_eq!(environment.get("PATH"), Some("/bin".as_ref()));
    }

    #[test]
    fn a_proxy_passes_without_a_password_only() {
        let environment = from(&[("https_proxy", "http://proxy:3128"), ("HTTP_PROXY", "http://me:secret@proxy:3128")]);
        assert_eq!(environment.get("https_proxy"), Some("http://proxy:3128".as_ref()));
        assert_eq!(environment.get("HTTP_PROXY"), None);
    }
}
