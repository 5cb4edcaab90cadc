//! Confines this process, and all that it starts, to some files. Linux only, by Landlock.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf, absolute};

use crate::fs::PathError;
use crate::process::{NamespaceError, Network};

/// Directories that programs need, outside a person's home. Those that are missing are passed over.
const SYSTEM: &[&str] = &[
    "/bin", "/etc", "/gnu/store", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/opt", "/proc",
    "/run/systemd/resolve", "/run/current-system", "/sbin", "/snap", "/sys", "/usr", "/var/lib", "/var/cache",
];

/// Devices, without shared memory. Agents run commands in terminals of their own, which are beside those of the person.
const DEVICES: &[&str] =
    &["/dev/full", "/dev/null", "/dev/ptmx", "/dev/pts", "/dev/random", "/dev/urandom", "/dev/zero"];

/// Directories in a home that hold things of several programs: they are never opened as a whole.
const SHARED: &[&str] = &["", ".local", ".local/share", ".config", ".cache", ".local/state"];

/// What is read of a runtime: beside its `bin`, there may be anything. Python ends at once if it sees the file of its
/// environment, and cannot read it.
const RUNTIME: &[&str] = &["include", "lib", "lib64", "libexec", "pyvenv.cfg"];

/// How many links a path may lead through, as in Linux.
const LINKS: usize = 40;

/// The version of Landlock whose rights are withheld: since this one, a file that may not be written cannot be truncated by its
/// name either.
pub const ABI: i32 = 3;

/// What a process may touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sandbox {
    homes: Vec<PathBuf>,
    closed: PathBuf,
    readable: Vec<PathBuf>,
    writable: Vec<PathBuf>,
    /// Programs, each by the places where it may be.
    programs: Vec<Vec<PathBuf>>,
    /// The network.
    pub network: Network,
}

/// Why a process cannot be confined.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The system has nothing for it.
    #[error("this system cannot confine a program: {0}")]
    Unsupported(String),
    /// The system does not take the network away.
    #[error(transparent)]
    Network(#[from] NamespaceError),
    /// A rule was not accepted.
    #[error("a rule of the sandbox was not accepted: {0}")]
    Rules(String),
    /// What would be opened has more in it than the program may see.
    #[error(
        "{0} is not opened to the program: it holds the home directory, belongs to the installed agents, or has files of several programs"
    )]
    Home(PathBuf),
    /// What would be opened leads elsewhere.
    #[error("{} is a link, and what it leads to is not opened to the program", .0.display())]
    Link(PathBuf),
    /// The program's own home cannot be made.
    #[error("its own home cannot be made: {0}")]
    Own(PathError),
    /// What would be opened is not there, or cannot be found.
    #[error("{}: {error}", path.display())]
    Path {
        /// What.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
}

impl Sandbox {
    /// Programs, libraries and settings of the system, and nothing of the person's home, whether the system or the variable
    /// `HOME` names it. `closed` is a further directory of which nothing is opened as a whole.
    ///
    /// # Errors
    /// [`SandboxError::Unsupported`] if no home is known.
    pub fn new(home: Option<&Path>, closed: &Path) -> Result<Self, SandboxError> {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let homes: Vec<PathBuf> =
            home.map(ToOwned::to_owned).into_iter().chain(own_home()).map(|home| real(&home)).collect();
        if homes.is_empty() {
            return Err(SandboxError::Unsupported("the home directory is not known".to_owned()));
        }
        let closed = real(closed);
        let (readable, writable, programs) = (Vec::new(), Vec::new(), Vec::new());
        let mut sandbox = Self { homes, closed, readable, writable, programs, network: Network::Shared };
        // A home below one of these, such as that of a service, is not opened with it.
        let system = SYSTEM.iter().map(Path::new).filter(|path| !sandbox.has_home(&real(path)));
        sandbox.readable = system.map(ToOwned::to_owned).collect();
        sandbox.writable = DEVICES.iter().map(PathBuf::from).collect();
        Ok(sandbox)
    }

    /// Lets files below a path be read and executed.
    ///
    /// # Errors
    /// [`SandboxError::Home`] if the home or the closed directory is below it; [`SandboxError::Link`] if it leads out of a
    /// directory that was opened before for changes; [`SandboxError::Path`].
    pub fn read(&mut self, path: &Path) -> Result<(), SandboxError> {
        let real = self.find(path)?;
        if self.has_home(&real) || self.closed.starts_with(&real) {
            return Err(SandboxError::Home(real));
        }
        self.readable.push(real);
        Ok(())
    }

    /// Lets a program be executed, with the libraries that are installed with it. Of its places, the first counts to which
    /// no path leads that may be changed, whenever that is granted: a link there may be the work of the confined program.
    pub fn execute(&mut self, places: impl IntoIterator<Item = PathBuf>) {
        self.programs.push(places.into_iter().collect());
    }

    /// Lets files below a path be read, executed, changed, created and removed.
    ///
    /// # Errors
    /// [`SandboxError::Home`] if the home or the closed directory is below it, or it is in the closed directory;
    /// [`SandboxError::Link`] and [`SandboxError::Path`] as for [`Sandbox::read`].
    pub fn write(&mut self, path: &Path) -> Result<(), SandboxError> {
        let real = self.find(path)?;
        if self.is_shared(&real) || self.closed.starts_with(&real) || real.starts_with(&self.closed) {
            return Err(SandboxError::Home(real));
        }
        self.writable.push(real);
        Ok(())
    }

    /// Lets files below a path in the closed directory be changed.
    pub fn own(&mut self, path: &Path) {
        self.writable.push(path.to_owned());
    }

    /// What is read and executed, as far as it exists.
    #[must_use]
    pub fn readable(&self) -> Vec<PathBuf> {
        self.listed(self.readable.iter().cloned().chain(self.opened()))
    }

    /// What is changed as well, as far as it exists or is in the closed directory.
    #[must_use]
    pub fn writable(&self) -> Vec<PathBuf> {
        self.listed(self.writable.iter().cloned())
    }

    /// What is read of the programs.
    fn opened(&self) -> impl Iterator<Item = PathBuf> {
        let found = self.programs.iter().filter_map(|places| places.iter().find(|place| !self.is_led(place)));
        found.flat_map(|program| self.parts(program))
    }

    /// What is read of a program.
    fn parts(&self, program: &Path) -> Vec<PathBuf> {
        let folder = program.parent().and_then(|folder| folder.canonicalize().ok());
        let (Some(folder), Ok(real)) = (folder, program.canonicalize()) else { return Vec::new() };
        let mut parts = self.installed(&folder);
        if let Some(target) = real.parent().filter(|target| *target != folder) {
            // An earlier agent may have put the link there, to any file.
            let is_alike = || {
                real.file_name()
                    .zip(program.file_name())
                    .is_some_and(|(real, name)| real.as_encoded_bytes().starts_with(name.as_encoded_bytes()))
            };
            if is_runtime(target) {
                parts.extend(self.installed(target));
            } else if (target.ends_with("bin") || is_alike()) && !real.starts_with(&self.closed) {
                parts.push(real);
            }
        }
        parts
    }

    /// A folder of programs and the libraries beside it, without what is not opened as a whole.
    fn installed(&self, folder: &Path) -> Vec<PathBuf> {
        let prefix = folder.parent().filter(|prefix| folder.ends_with("bin") && !self.is_shared(prefix));
        // An earlier agent may have put a link there, to any file.
        let stays = |prefix: &Path, path: &Path| path.canonicalize().map_or(true, |real| real.starts_with(prefix));
        let parts =
            |prefix| RUNTIME.iter().map(move |name| Path::join(prefix, name)).filter(move |path| stays(prefix, path));
        let beside = prefix.into_iter().flat_map(parts);
        let is_open =
            |path: &PathBuf| !(self.is_shared(path) || path.starts_with(&self.closed) || self.closed.starts_with(path));
        [folder.to_owned()].into_iter().chain(beside).filter(is_open).collect()
    }

    /// Whether what a path leads to may be changed by changing what may be written.
    fn is_led(&self, path: &Path) -> bool {
        let parts = |path: &Path| path.components().rev().map(|part| part.as_os_str().to_owned()).collect::<Vec<_>>();
        let Ok(path) = absolute(path) else { return true };
        let (mut rest, mut real, mut links) = (parts(&path), PathBuf::new(), 0);
        while let Some(part) = rest.pop() {
            if Path::new(&part).components().next() == Some(Component::ParentDir) {
                real.pop();
                continue;
            }
            // A root takes the place of the path before it.
            real.push(part);
            let is_left = rest.last().is_some_and(|next| next == "..");
            if self.is_written(&real) && !(is_left && self.is_granted(&real)) {
                return true;
            }
            if let Ok(target) = fs::read_link(&real) {
                links += 1;
                if links > LINKS {
                    return true;
                }
                real.pop();
                rest.extend(parts(&target));
            }
        }
        false
    }

    /// Whether a path is a directory that may be written, and that cannot be exchanged itself.
    fn is_granted(&self, path: &Path) -> bool {
        self.writable.iter().any(|written| path == written)
            && self.writable.iter().all(|written| path == written || !path.starts_with(written))
    }

    fn is_written(&self, path: &Path) -> bool {
        self.writable.iter().any(|written| path.starts_with(written))
    }

    /// Where a path leads, unless what may be written leads it elsewhere.
    fn find(&self, path: &Path) -> Result<PathBuf, SandboxError> {
        let real = path.canonicalize().map_err(|error| SandboxError::Path { path: path.to_owned(), error })?;
        if self.is_led(path) && !self.is_written(&real) {
            return Err(SandboxError::Link(path.to_owned()));
        }
        Ok(real)
    }

    /// Paths in order, without those below others.
    fn listed(&self, paths: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
        let sorted: BTreeSet<PathBuf> = paths.filter(|path| path.exists() || path.starts_with(&self.closed)).collect();
        let mut listed: Vec<PathBuf> = Vec::new();
        for path in sorted {
            if !listed.last().is_some_and(|last| path.starts_with(last)) {
                listed.push(path);
            }
        }
        listed
    }

    fn has_home(&self, path: &Path) -> bool {
        self.homes.iter().any(|home| home.starts_with(path))
    }

    fn is_shared(&self, path: &Path) -> bool {
        self.has_home(path) || self.homes.iter().any(|home| SHARED.iter().any(|shared| home.join(shared) == path))
    }

    /// Whether this system can confine a program.
    ///
    /// # Errors
    /// [`SandboxError::Unsupported`] on other systems than Linux, and on Linux before 6.2 or without Landlock.
    #[cfg(target_os = "linux")]
    pub fn check() -> Result<(), SandboxError> {
        ruleset().map(drop)
    }

    /// Confines this thread and what it starts, for good, and closes files that this process has inherited, which would stay
    /// open to it. Without a network, this must be the only thread of the process.
    ///
    /// # Errors
    /// [`SandboxError`]; [`SandboxError::Unsupported`] as for [`Sandbox::check`].
    #[cfg(target_os = "linux")]
    pub fn enter(&self) -> Result<(), SandboxError> {
        use landlock::{Access as _, AccessFs, RulesetCreatedAttr as _, RulesetError, path_beneath_rules};
        let rules = |error: RulesetError| SandboxError::Rules(error.to_string());
        let ruleset = ruleset()?;
        crate::process::close_inherited();
        if self.network == Network::None {
            crate::process::leave_network()?;
        }
        let (reads, all) = (AccessFs::from_read(ABI.into()), AccessFs::from_all(ABI.into()));
        let ruleset = ruleset.add_rules(path_beneath_rules(self.readable(), reads)).map_err(rules)?;
        let ruleset = ruleset.add_rules(path_beneath_rules(&self.writable, all)).map_err(rules)?;
        ruleset.restrict_self().map_err(rules)?;
        Ok(())
    }

    /// Whether this system can confine a program.
    ///
    /// # Errors
    /// [`SandboxError::Unsupported`].
    #[cfg(not(target_os = "linux"))]
    pub fn check() -> Result<(), SandboxError> {
        Err(SandboxError::Unsupported("Landlock is a part of Linux".to_owned()))
    }

    /// Confines this thread and what it starts, for good.
    ///
    /// # Errors
    /// [`SandboxError::Unsupported`].
    #[cfg(not(target_os = "linux"))]
    pub fn enter(&self) -> Result<(), SandboxError> {
        Self::check()
    }
}

/// Whether a folder of programs is that of Node.js, Python or git, by their libraries beside it.
fn is_runtime(folder: &Path) -> bool {
    let Some(prefix) = folder.parent().filter(|_| folder.ends_with("bin")) else { return false };
    let has_python = || {
        let libraries = fs::read_dir(prefix.join("lib")).into_iter().flatten().flatten();
        libraries.into_iter().any(|item| item.file_name().as_encoded_bytes().starts_with(b"python3."))
    };
    ["lib/node_modules", "libexec/git-core"].iter().any(|name| prefix.join(name).is_dir()) || has_python()
}

/// What is withheld unless a rule grants it.
#[cfg(target_os = "linux")]
fn ruleset() -> Result<landlock::RulesetCreated, SandboxError> {
    use landlock::{
        Access as _, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _, RulesetError, Scope,
    };
    let unsupported = |error: RulesetError| SandboxError::Unsupported(error.to_string());
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let ruleset = ruleset.handle_access(AccessFs::from_all(ABI.into())).map_err(unsupported)?;
    // Newer systems also keep it from signals and abstract sockets of other programs.
    let ruleset = ruleset.set_compatibility(CompatLevel::BestEffort);
    let ruleset = ruleset.scope(Scope::AbstractUnixSocket | Scope::Signal).map_err(unsupported)?;
    ruleset.create().map_err(unsupported)
}

/// The home that the system knows of this user, whatever variables say.
#[cfg(target_os = "linux")]
fn own_home() -> Option<PathBuf> {
    let user = nix::unistd::User::from_uid(nix::unistd::Uid::effective()).ok()??;
    (user.dir.is_absolute() && user.dir != Path::new("/")).then_some(user.dir)
}

#[cfg(not(target_os = "linux"))]
fn own_home() -> Option<PathBuf> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_opens_its_own_folder_and_never_the_home() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        let home = real.join("home");
        let open = |program: &str, home: &Path| {
            let path = home.join(program);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            let mut sandbox = Sandbox::new(Some(home), &real.join("agents")).unwrap();
            sandbox.execute([path]);
            let mut opened: Vec<PathBuf> = sandbox.opened().collect();
            opened.sort();
            let home = home.canonicalize().unwrap();
            let shown = |path: PathBuf| path.strip_prefix(&home).unwrap().display().to_string().replace('\\', "/");
            opened.into_iter().map(shown).collect::<Vec<_>>()
        };
        let link = real.join("link");
        fs::create_dir(&home).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(&home, &link).unwrap();
        for home in [&home, &link].into_iter().filter(|home| home.exists()) {
            let node = ["bin", "include", "lib", "lib64", "libexec", "pyvenv.cfg"]
                .map(|name| format!(".nvm/versions/node/v22/{name}"));
            assert_eq!(open(".nvm/versions/node/v22/bin/node", home), node);
            assert_eq!(open(".local/bin/uv", home), [".local/bin"]);
            assert!(!open(".cargo/bin/rg", home).contains(&".cargo".to_owned()));
            assert_eq!(open("bin/tool", home), ["bin"]);
            assert_eq!(open("tool", home), [""; 0]);
        }
        for path in ["x/agents/other", "project", ".config"] {
            fs::create_dir_all(home.join(path)).unwrap();
        }
        let mut sandbox = Sandbox::new(Some(&home), &home.join("x/agents")).unwrap();
        for path in ["", "..", "/", ".local", ".config", "x", "x/agents", "x/agents/other"] {
            assert!(matches!(sandbox.write(&home.join(path)), Err(SandboxError::Home(_))), "{path}");
        }
        assert!(sandbox.write(&home.join("project")).is_ok() && sandbox.read(&home.join(".config")).is_ok());
        for path in ["", "x", "x/agents"] {
            assert!(matches!(sandbox.read(&home.join(path)), Err(SandboxError::Home(_))), "{path}");
        }
        for found in [sandbox.read(&home.join("none")), sandbox.write(&home.join("none"))] {
            assert!(matches!(found, Err(SandboxError::Path { .. })));
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_link_opens_a_runtime_and_nothing_that_it_is_led_to() {
        use std::os::unix::fs::symlink;

        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap().join("home");
        let real = |path: &str| home.join(path);
        for file in [
            ".ssh/id", ".config/settings", ".config/rg", "x/agents/cred", "x/agents/homes/b/rg", "private/bin/tool",
            "tools/rg-14/rg", "py/bin/python3.12", "py/lib/python3.12/os.py", "node/bin/node",
            "node/lib/node_modules/n", "project/.venv/bin/own", "usr/bin/rg",
        ] {
            fs::create_dir_all(real(file).parent().unwrap()).unwrap();
            fs::write(real(file), "").unwrap();
        }
        fs::create_dir(real("links")).unwrap();
        // What a link in a folder of `PATH` opens beside that folder, as a path below the home.
        let open = |sandbox: &mut Sandbox, link: &str, target: &str| {
            let _ = fs::remove_file(real(link));
            symlink(real(target), real(link)).unwrap();
            sandbox.programs.clear();
            sandbox.execute([real(link), real("usr/bin/rg")]);
            let opened: Vec<PathBuf> = sandbox.opened().filter(|path| path.exists()).collect();
            opened.iter().map(|path| path.strip_prefix(&home).unwrap().display().to_string()).collect::<Vec<_>>()
        };
        let mut sandbox = Sandbox::new(Some(&home), &real("x/agents")).unwrap();
        for (link, target, opened) in [
            ("rg", ".ssh/id", &[][..]),
            ("rg", ".config/settings", &[]),
            ("rg", ".config/rg", &[".config/rg"]),
            ("rg", "x/agents/cred", &[]),
            ("rg", "x/agents/homes/b/rg", &[]),
            ("rg", "private/bin/tool", &["private/bin/tool"]),
            ("rg", "tools/rg-14/rg", &["tools/rg-14/rg"]),
            ("python3", "py/bin/python3.12", &["py/bin", "py/lib"]),
            ("node", "node/bin/node", &["node/bin", "node/lib"]),
        ] {
            assert_eq!(open(&mut sandbox, &format!("links/{link}"), target), [&["links"], opened].concat(), "{target}");
        }
        // A link beside `bin` opens what is in the same folder only.
        for file in ["env/bin/python3", "env/lib/python3.12/os.py"] {
            fs::create_dir_all(real(file).parent().unwrap()).unwrap();
            fs::write(real(file), "").unwrap();
        }
        for (link, target) in [("lib64", "env/lib"), ("include", ".ssh"), ("pyvenv.cfg", ".ssh/id")] {
            symlink(real(target), real("env").join(link)).unwrap();
        }
        sandbox.programs.clear();
        sandbox.execute([real("env/bin/python3")]);
        let opened: Vec<PathBuf> = sandbox.opened().filter(|path| path.exists()).collect();
        assert_eq!(opened, ["env/bin", "env/lib", "env/lib64"].map(real));
        // Where the program may write, it may have put any link. The next place counts.
        let next = ["usr/bin"];
        sandbox.execute([real("links/rg")]);
        sandbox.write(&real("project")).unwrap();
        for target in [".ssh/id", "private/bin/tool", "node/bin/node"] {
            assert_eq!(open(&mut sandbox, "project/.venv/bin/rg", target), next, "{target}");
            // Through a link elsewhere, which leads there, too, or whose folder does.
            assert_eq!(open(&mut sandbox, "links/rg", "project/.venv/bin/rg"), next, "{target}");
            assert_eq!(open(&mut sandbox, "links/rg", "links/../project/.venv/bin/rg"), next, "{target}");
        }
        fs::remove_dir_all(real("project/.venv/bin")).unwrap();
        symlink(real("node/bin"), real("project/.venv/bin")).unwrap();
        sandbox.programs.clear();
        sandbox.execute([real("project/.venv/bin/node")]);
        assert_eq!(sandbox.opened().count(), 0);
        for path in ["project/.venv/bin", "project/.venv/bin/node"] {
            assert!(matches!(sandbox.read(&real(path)), Err(SandboxError::Link(_))), "{path}");
            assert!(matches!(sandbox.write(&real(path)), Err(SandboxError::Link(_))), "{path}");
        }
        // What may be written cannot move itself, so that the path beside it is what it was; a folder within can be moved.
        assert!(sandbox.read(&real("project/../usr/bin")).is_ok());
        assert!(matches!(sandbox.read(&real("project/.venv/../../usr/bin")), Err(SandboxError::Link(_))));
        // A link in a circle leads nowhere.
        symlink(real("links/circle"), real("links/circle")).unwrap();
        assert!(sandbox.is_led(&real("links/circle")));
    }
}
