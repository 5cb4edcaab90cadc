//! What the package managers of this machine know.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use url::Url;

use crate::net::{Credentials, Secret};
use crate::sys::command;
use crate::sys::fs::read_bounded;

/// The largest configuration file that is read, in bytes.
const FILE_LIMIT: u64 = 1 << 20;

/// How long a package manager may take to say what it is configured with.
const PATIENCE: Duration = Duration::from_secs(20);

/// The environment of the program, as its caller lets it be seen.
pub struct Surroundings<'a> {
    /// The value of an environment variable.
    pub variable: &'a (dyn Fn(&str) -> Option<String> + Sync),
    /// Runs a package manager with arguments and an empty standard input, and returns its standard output; `None` when it
    /// is not there or fails.
    pub run: &'a (dyn Fn(&str, &[&str]) -> Option<String> + Sync),
}

/// The address of a package registry is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownBase {
    /// Neither configuration nor package manager.
    #[error("no {what} is known: neither {program} nor {variable} names one")]
    Unset {
        /// What is sought.
        what: &'static str,
        /// The program that would know.
        program: &'static str,
        /// The variable that would say.
        variable: &'static str,
    },
    /// What is configured is not an address.
    #[error("{place} is not the address of a package registry")]
    Invalid {
        /// Where that is.
        place: String,
    },
}

impl UnknownBase {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::Unset { program, variable, .. } => format!("install {program}, or set {variable} to its address"),
            Self::Invalid { .. } => "correct that address".to_owned(),
        }
    }
}

/// Runs a package manager, for [`Surroundings::run`], in an empty directory: it reads the configuration files of its working
/// directory, and other people may write to the directory of all temporary files.
#[must_use]
pub fn ask_package_manager(program: &str, arguments: &[&str]) -> Option<String> {
    let directory = tempfile::tempdir().ok()?;
    // Keeps npm from looking in the folders above.
    fs::write(directory.path().join("package.json"), "{}").ok()?;
    command::answer(program, arguments, directory.path(), PATIENCE)
}

impl Surroundings<'_> {
    /// A variable that is set to something.
    pub(super) fn set(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.trim().is_empty())
    }

    pub(super) fn home(&self) -> Option<PathBuf> {
        self.set("HOME").or_else(|| self.set("USERPROFILE")).map(PathBuf::from)
    }

    /// The folder of a person's configuration files.
    pub(super) fn config_home(&self) -> Option<PathBuf> {
        let named = self.set("XDG_CONFIG_HOME").or_else(|| self.set("APPDATA")).map(PathBuf::from);
        named.or_else(|| Some(self.home()?.join(".config")))
    }
}

/// The text of a configuration file, if it is there.
pub(super) fn read(path: &Path) -> Option<String> {
    let real = path.canonicalize().ok()?;
    let bytes = read_bounded(&real, Path::new("/"), FILE_LIMIT).ok()?;
    String::from_utf8(bytes).ok()
}

/// Reads a base address, and moves what secrets it holds to the credentials.
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
    let (user, password) = (decoded(url.username()), decoded(url.password().unwrap_or_default()));
    if !user.is_empty() || !password.is_empty() {
        // Both fail only for addresses that can have no user info, which this one has.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        credentials.add(&url, &Secret::Basic(user, password));
    }
    Ok(url)
}

/// Percent-decoded.
fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}
