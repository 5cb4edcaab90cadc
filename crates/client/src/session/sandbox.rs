//! Confines an agent to what it needs, see [`acp_registry_host::sandbox`].

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use acp_registry_host::fs::{PathError, make_private};
use acp_registry_host::process::Network;
use acp_registry_host::sandbox::{ABI, Sandbox, SandboxError};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Error, Session};
use crate::install::Start;
use crate::store::Version;

/// Directories of an agent's own home, by the variables that name them.
const OWN: [(&str, &str); 6] = [
    ("HOME", ""),
    ("XDG_CONFIG_HOME", ".config"),
    ("XDG_DATA_HOME", ".local/share"),
    ("XDG_STATE_HOME", ".local/state"),
    ("XDG_CACHE_HOME", ".cache"),
    ("TMPDIR", "tmp"),
];

/// Variables that lead to services of the person's session.
const HIDDEN: [&str; 7] = [
    "SSH_AUTH_SOCK", "SSH_AGENT_PID", "DBUS_SESSION_BUS_ADDRESS", "GPG_AGENT_INFO", "GNOME_KEYRING_CONTROL",
    "XAUTHORITY", "XDG_RUNTIME_DIR",
];

/// Runtimes that agents start, where they are in a home.
const RUNTIMES: [&str; 8] = ["node", "npm", "npx", "python3", "uv", "uvx", "git", "rg"];

/// An agent that may touch its working directory, its own home and what it is made of.
#[derive(Debug)]
pub struct Confined {
    /// What it may touch.
    pub sandbox: Sandbox,
    /// Variables that name its own home.
    pub variables: Vec<(OsString, OsString)>,
    /// Variables that it does not see.
    pub hidden: Vec<OsString>,
    /// Its own home.
    own: PathBuf,
}

impl Session {
    /// The sandbox of all agents, which may only use the system.
    ///
    /// # Errors
    /// [`SandboxError::Unsupported`].
    pub fn sandbox(&self) -> Result<Sandbox, SandboxError> {
        let home = self.options.variable("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        Sandbox::new(home.as_deref(), self.store.root())
    }

    /// The sandbox in which a version starts in a working directory, with a home of its own.
    ///
    /// # Errors
    /// [`Error::Sandbox`] when the working directory has the person's home in it.
    pub fn confine(&self, version: &Version, start: &Start, directory: &Path) -> Result<Confined, Error> {
        let refused = |error| Error::Sandbox { id: version.receipt.id.to_string(), error };
        // On some systems, the root of agents is behind a link.
        let root = self.store.root().canonicalize().unwrap_or_else(|_| self.store.root().to_owned());
        let mut sandbox = self.sandbox().map_err(refused)?;
        sandbox.write(directory).map_err(refused)?;
        let homes = root.join("homes");
        let own = homes.join(version.receipt.id.as_str());
        if let Some(link) = [&homes, &own].into_iter().find(|path| path.is_symlink()) {
            return Err(refused(SandboxError::Link(link.clone())));
        }
        sandbox.own(&own);
        sandbox.read(&version.directory).map_err(refused)?;
        // Programs beside it are in its folder, or in that of the version.
        sandbox.execute([start.program.clone()]);
        let environment = self.environment();
        for name in RUNTIMES {
            sandbox.execute(environment.find_all(name));
        }
        for link in interpreters(&version.directory) {
            sandbox.execute([link]);
        }
        let below = |folder: &str| if folder.is_empty() { own.clone() } else { own.join(folder) };
        let variables = OWN.map(|(name, folder)| (name.into(), below(folder).into_os_string())).to_vec();
        Ok(Confined { sandbox, variables, hidden: HIDDEN.map(OsString::from).to_vec(), own })
    }
}

impl Confined {
    /// What it may touch, for people and other programs.
    #[must_use]
    pub fn permissions(&self) -> Permissions {
        let named = |(name, value): &(OsString, OsString)| {
            (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned())
        };
        Permissions {
            writes: self.sandbox.writable(),
            reads: self.sandbox.readable(),
            network: if self.sandbox.network == Network::None { "none" } else { "shared" },
            variables: self.variables.iter().map(named).collect(),
            hidden_variables: HIDDEN.to_vec(),
            obstacle: Sandbox::check().err().map(|error| error.to_string()),
        }
    }

    /// Confines this thread and what it starts, for good, and makes the directories of the agent's own home: inside, since the
    /// agent may have put links there.
    ///
    /// # Errors
    /// [`SandboxError`].
    pub fn enter(&self) -> Result<(), SandboxError> {
        make_private(&self.own).map_err(PathError::at(&self.own)).map_err(SandboxError::Own)?;
        self.sandbox.enter()?;
        for (_, name) in OWN {
            let mut folder = self.own.clone();
            for part in Path::new(name).components() {
                folder.push(part);
                if folder.symlink_metadata().is_ok_and(|known| !known.is_dir()) {
                    let _ = fs::remove_file(&folder);
                }
                // An agent that misses it says so.
                let _ = make_private(&folder);
            }
        }
        Ok(())
    }
}

/// What an agent may touch in `run --sandbox`.
#[derive(Debug, Serialize)]
pub struct Permissions {
    /// What it changes: files, and directories with all below them.
    #[serde(serialize_with = "acp_registry_plan::json::paths")]
    pub writes: Vec<PathBuf>,
    /// What it only reads and executes.
    #[serde(serialize_with = "acp_registry_plan::json::paths")]
    pub reads: Vec<PathBuf>,
    /// `shared` or `none`.
    pub network: &'static str,
    /// Variables that lead to its own home.
    pub variables: BTreeMap<String, String>,
    /// Variables of the person that it does not see.
    pub hidden_variables: Vec<&'static str>,
    /// Why this system cannot hold it to that.
    pub obstacle: Option<String>,
}

impl Permissions {
    /// The rules in the form of [landlockconfig](https://github.com/landlock-lsm/landlockconfig), whose `llconfig` starts
    /// programs by it. `None` if a path is not Unicode.
    #[must_use]
    pub fn landlock(&self) -> Option<Value> {
        // A dollar sign begins a variable there.
        let list = |paths: &[PathBuf]| -> Option<Vec<String>> {
            paths.iter().map(|path| Some(path.to_str()?.replace('$', "$$"))).collect()
        };
        Some(json!({
            "abi": ABI,
            "ruleset": [{ "handledAccessFs": ["abi.all"], "scoped": ["abstract_unix_socket", "signal"] }],
            "pathBeneath": [
                { "allowedAccess": ["execute", "read_file", "read_dir"], "parent": list(&self.reads)? },
                { "allowedAccess": ["abi.all"], "parent": list(&self.writes)? },
            ],
        }))
    }
}

/// The interpreters that an environment of Python leads to.
fn interpreters(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![(directory.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        if folder.join("pyvenv.cfg").is_file() {
            found.push(folder.join("bin").join("python"));
        } else if depth < 3 {
            let below = fs::read_dir(&folder).into_iter().flatten().flatten();
            folders.extend(
                below
                    .filter(|item| item.file_type().is_ok_and(|kind| kind.is_dir()))
                    .map(|item| (item.path(), depth + 1)),
            );
        }
    }
    found
}
