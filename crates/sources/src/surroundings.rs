//! The configuration of this machine's package managers.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use acp_registry_host::command;
use acp_registry_host::fs::read_bounded;
use acp_registry_http::Credentials;
use url::Url;

/// Maximum size of a configuration file, in bytes.
const FILE_LIMIT: u64 = 1 << 20;

/// Time limit for a package manager to print its configuration.
const PATIENCE: Duration = Duration::from_secs(20);

/// The environment of the program, as far as the caller exposes it.
pub struct Surroundings<'a> {
    /// The value of an environment variable.
    pub variable: &'a (dyn Fn(&str) -> Option<String> + Sync),
    /// The names of all environment variables, in their order.
    pub names: &'a (dyn Fn() -> Vec<String> + Sync),
    /// Runs a package manager with arguments and empty stdin, and returns its stdout; `None` if it does not exist or
    /// fails.
    pub run: &'a (dyn Fn(&str, &[&str]) -> Option<String> + Sync),
}

/// The URL of a package registry is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownBase {
    /// Neither a setting nor a package manager provides it.
    #[error("no {what} is known: neither {program} nor {variable} names one")]
    Unset {
        /// The registry.
        what: &'static str,
        /// The program that could provide it.
        program: &'static str,
        /// The variable that sets it.
        variable: &'static str,
    },
    /// The setting is not a valid URL.
    #[error("{place} is not the address of a package registry")]
    Invalid {
        /// Where it is set.
        place: String,
    },
}

impl UnknownBase {
    /// How to fix it.
    pub fn remedy(&self) -> String {
        match self {
            Self::Unset { program, variable, .. } => format!("install {program}, or set {variable} to its address"),
            Self::Invalid { .. } => "correct that address".to_owned(),
        }
    }
}

/// Runs a package manager, for [`Surroundings::run`], in an empty directory: package managers read configuration files
/// in their working directory, and other users may write to the system's temporary directory. `path` replaces its `PATH`.
pub fn ask_package_manager(path: Option<&OsStr>, program: &str, arguments: &[&str]) -> Option<String> {
    let directory = tempfile::tempdir().ok()?;
    // Prevents npm from searching parent directories.
    fs::write(directory.path().join("package.json"), "{}").ok()?;
    command::answer(program, arguments, directory.path(), PATIENCE, path).ok()
}

impl Surroundings<'_> {
    /// The value of a variable, unless it is empty.
    pub(super) fn set(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.trim().is_empty())
    }

    pub(super) fn home(&self) -> Option<PathBuf> {
        self.set("HOME").or_else(|| self.set("USERPROFILE")).map(PathBuf::from)
    }

    /// The user's configuration directory.
    pub(super) fn config_home(&self) -> Option<PathBuf> {
        let named = self.set("XDG_CONFIG_HOME").or_else(|| self.set("APPDATA")).map(PathBuf::from);
        named.or_else(|| Some(self.home()?.join(".config")))
    }
}

/// The text of a configuration file, if it exists.
pub(super) fn read(path: &Path) -> Option<String> {
    let real = path.canonicalize().ok()?;
    let bytes = read_bounded(&real, Path::new("/"), FILE_LIMIT).ok()?;
    String::from_utf8(bytes).ok()
}

/// Parses a base URL, and moves its secrets to the credentials.
pub(super) fn base(text: &str, place: &str, credentials: &mut Credentials) -> Result<Url, UnknownBase> {
    let invalid = || UnknownBase::Invalid { place: place.to_owned() };
    let mut url = Url::parse(text.trim()).map_err(|_| invalid())?;
    if !["https", "http"].contains(&url.scheme()) || url.host_str().is_none() {
        return Err(invalid());
    }
    url.set_query(None);
    url.set_fragment(None);
    let path = format!("{}/", url.path().trim_end_matches('/'));
    url.set_path(&path);
    credentials.add_user_info(&url);
    // Both fail only for URLs that cannot have user info.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    Ok(url)
}

/// A setting: its section, key and value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) section: String,
    pub(super) key: String,
    pub(super) value: String,
}

/// Parses `key = value` lines below `[section]` lines, as pip does. Comment lines begin with `#` or `;`; values may be quoted.
pub(super) fn settings(text: &str) -> Vec<Setting> {
    let mut section = String::new();
    let mut settings = Vec::new();
    for line in text.trim_start_matches('\u{feff}').lines().map(str::trim) {
        if line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            name.trim().clone_into(&mut section);
        } else if let Some((key, value)) = line.split_once('=') {
            settings.push(Setting {
                section: section.clone(),
                key: key.trim().to_owned(),
                value: unquoted(value.trim()).to_owned(),
            });
        }
    }
    settings
}

fn unquoted(text: &str) -> &str {
    ['"', '\''].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote)).unwrap_or(text)
}

/// Calls `work` with the surroundings of a person whose home has these files, and with the path of that home. No test depends on
/// the system's own files.
#[cfg(test)]
pub(super) fn with_home<T>(
    files: &[(&str, &str)],
    variables: &[(&str, &str)],
    run: &(dyn Fn(&str, &[&str]) -> Option<String> + Sync),
    work: impl FnOnce(&Surroundings<'_>, &str) -> T,
) -> T {
    let home = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::create_dir_all(home.path().join(name).parent().unwrap()).unwrap();
        fs::write(home.path().join(name), text).unwrap();
    }
    let home = home.path().to_str().unwrap();
    let has = |part: &str| files.iter().any(|(name, _)| name.contains(part));
    let variable = |name: &str| match name {
        "HOME" | "PREFIX" => Some(home.to_owned()),
        "PIP_CONFIG_FILE" if !has("pip/") => Some(format!("{home}/missing")),
        "UV_CONFIG_FILE" if !has("uv/") => Some(format!("{home}/missing")),
        _ => variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()),
    };
    let names = || variables.iter().map(|(name, _)| (*name).to_owned()).collect();
    work(&Surroundings { variable: &variable, names: &names, run }, home)
}

/// The variables that `of` finds in such surroundings, with `HOME` for the path of the home.
#[cfg(test)]
pub(super) fn find_variables(
    of: fn(&Surroundings<'_>) -> Vec<(String, String)>,
    files: &[(&str, &str)],
    variables: &[(&str, &str)],
) -> std::collections::BTreeMap<String, String> {
    with_home(files, variables, &|_, _| panic!("no program is started"), |surroundings, home| {
        let shown = |value: String| value.replace(home, "HOME").replace('\\', "/");
        of(surroundings).into_iter().map(|(name, value)| (name, shown(value))).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_the_package_managers_do() {
        let text =
            "\u{feff}; c\n# c = d\nplain=1\n [global] \nindex-url = \"https://h.example/s?a=b\"\nno setting\nq='x'\n";
        let read: Vec<_> = settings(text).into_iter().map(|s| (s.section, s.key, s.value)).collect();
        let expected = [("", "plain", "1"), ("global", "index-url", "https://h.example/s?a=b"), ("global", "q", "x")];
        assert_eq!(read, expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned())));
    }
}
