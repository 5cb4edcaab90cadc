//! Confines this process, and all that it starts, to some files. Linux only, by Landlock.

use std::path::{Path, PathBuf};

/// Directories that programs need, outside a person's home. Those that are missing are passed over.
const SYSTEM: &[&str] = &[
    "/bin", "/etc", "/gnu/store", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/opt", "/proc",
    "/run/systemd/resolve", "/run/current-system", "/sbin", "/snap", "/sys", "/usr", "/var/lib", "/var/cache",
];

/// Devices, which are not files of a person.
const DEVICES: &[&str] = &["/dev"];

/// Directories in a home that hold things of several programs: not even a runtime below them makes them readable.
const SHARED: &[&str] = &["", ".local", ".local/share", ".config", ".cache", ".local/state"];

/// What a process may touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sandbox {
    home: PathBuf,
    readable: Vec<PathBuf>,
    writable: Vec<PathBuf>,
}

/// Why a process cannot be confined.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The system has nothing for it.
    #[error("this system cannot confine a program: {0}")]
    Unsupported(String),
    /// A rule was not accepted.
    #[error("the program cannot be confined: {0}")]
    Rules(String),
    /// What may be written has the person's home in it.
    #[error("{0} has the home directory in it, which would be open to the program")]
    Home(PathBuf),
}

impl Sandbox {
    /// Programs, libraries and settings of the system, and nothing of this home.
    #[must_use]
    pub fn new(home: &Path) -> Self {
        let home = home.canonicalize().unwrap_or_else(|_| home.to_owned());
        // A home below one of these, such as that of a service, is not opened with it.
        let system = SYSTEM.iter().map(PathBuf::from).filter(|path| !home.starts_with(path));
        Self { readable: system.collect(), writable: DEVICES.iter().map(PathBuf::from).collect(), home }
    }

    /// Lets files below a path be read and executed.
    pub fn read(&mut self, path: &Path) {
        self.readable.push(path.to_owned());
    }

    /// Lets a program be executed, with the files that are installed with it.
    pub fn execute(&mut self, program: &Path) {
        let Ok(real) = program.canonicalize() else { return };
        for program in [program, &real] {
            let Some(folder) = program.parent() else { continue };
            let prefix = folder.parent().filter(|prefix| folder.ends_with("bin") && !self.is_shared(prefix));
            self.readable.push(prefix.unwrap_or(folder).to_owned());
        }
        // A folder of programs that is the home itself has more in it.
        let home = self.home.clone();
        self.readable.retain(|path| !home.starts_with(path));
    }

    /// Lets files below a path be read, executed, changed, created and removed.
    ///
    /// # Errors
    /// [`SandboxError::Home`] if the home is below it.
    pub fn write(&mut self, path: &Path) -> Result<(), SandboxError> {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if self.home.starts_with(&real) {
            return Err(SandboxError::Home(real));
        }
        self.writable.push(real);
        Ok(())
    }

    fn is_shared(&self, path: &Path) -> bool {
        self.home.starts_with(path) || SHARED.iter().any(|shared| self.home.join(shared) == path)
    }

    /// Confines this thread and what it starts, for good.
    ///
    /// # Errors
    /// [`SandboxError::Unsupported`] on other systems, and on Linux before 6.2 or without Landlock.
    #[cfg(target_os = "linux")]
    pub fn enter(&self) -> Result<(), SandboxError> {
        use landlock::{
            ABI, Access as _, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
            RulesetCreatedAttr as _, RulesetError, Scope, path_beneath_rules,
        };
        // Since this version, a file that may not be written cannot be truncated by its name either.
        let abi = ABI::V3;
        let unsupported = |error: RulesetError| SandboxError::Unsupported(error.to_string());
        let rules = |error: RulesetError| SandboxError::Rules(error.to_string());
        let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        let ruleset = ruleset.handle_access(AccessFs::from_all(abi)).map_err(unsupported)?;
        // Newer systems also keep it from signals and abstract sockets of other programs.
        let ruleset = ruleset.set_compatibility(CompatLevel::BestEffort);
        let ruleset = ruleset.scope(Scope::AbstractUnixSocket | Scope::Signal).map_err(unsupported)?;
        let ruleset = ruleset.create().map_err(unsupported)?;
        let ruleset = ruleset.add_rules(path_beneath_rules(&self.readable, AccessFs::from_read(abi))).map_err(rules)?;
        let ruleset = ruleset.add_rules(path_beneath_rules(&self.writable, AccessFs::from_all(abi))).map_err(rules)?;
        ruleset.restrict_self().map_err(rules)?;
        Ok(())
    }

    /// Confines this thread and what it starts, for good.
    ///
    /// # Errors
    /// [`SandboxError::Unsupported`].
    #[cfg(not(target_os = "linux"))]
    pub fn enter(&self) -> Result<(), SandboxError> {
        let _ = (&self.readable, &self.writable);
        Err(SandboxError::Unsupported("Landlock is a part of Linux".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_opens_its_own_folder_and_never_the_home() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap().join("home");
        let open = |program: &str| {
            let path = home.join(program);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            let mut sandbox = Sandbox::new(&home);
            let known = sandbox.readable.len();
            sandbox.execute(&path);
            let mut opened = sandbox.readable.split_off(known);
            opened.dedup();
            opened.into_iter().map(|path| path.strip_prefix(&home).unwrap().display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(open(".nvm/versions/node/v22/bin/node"), [".nvm/versions/node/v22"]);
        assert_eq!(open(".local/bin/uv"), [".local/bin"]);
        assert_eq!(open("bin/tool"), ["bin"]);
        assert_eq!(open("tool"), [""; 0]);
        for path in ["", "..", "/"] {
            assert!(matches!(Sandbox::new(&home).write(&home.join(path)), Err(SandboxError::Home(_))), "{path}");
        }
        assert!(Sandbox::new(&home).write(&home.join("project")).is_ok());
    }
}
