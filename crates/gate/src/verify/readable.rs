//! Finds the directories that an agent must be able to read in a sandbox.

use std::fs;
use std::path::{Path, PathBuf};

use super::Verifier;
use acp_registry_client::install::Kind;

impl Verifier {
    /// The directories of this machine that an installed agent must be able to read.
    pub(super) fn readable(&self, kind: Kind, directory: &Path, program: &Path) -> Vec<PathBuf> {
        let interpreters = match kind {
            // The interpreter that the agent was installed for, and the one in `PATH`.
            Kind::Npx => {
                let own = Some(program.to_owned()).filter(|program| !program.starts_with(directory));
                own.into_iter().chain(self.environment.find("node")).collect()
            }
            Kind::Uvx => pythons(directory),
            Kind::Binary => Vec::new(),
        };
        let mut readable = vec![directory.to_owned()];
        let folders = interpreters.iter().flat_map(|interpreter| interpreter_folders(interpreter));
        let shows_home = |folder: &PathBuf| self.home.as_ref().is_some_and(|home| home.starts_with(folder));
        readable.extend(folders.filter(|folder| !shows_home(folder)));
        readable
    }
}

/// The Python interpreters that uv linked in its tool environments.
fn pythons(directory: &Path) -> Vec<PathBuf> {
    let tools = fs::read_dir(directory.join("tools")).into_iter().flatten().flatten();
    tools.map(|tool| tool.path().join("bin/python")).filter(|python| python.exists()).collect()
}

/// The directories that an interpreter may need: its own, that of the file it links to and, if that is a `bin`
/// directory, its parent with the libraries.
fn interpreter_folders(interpreter: &Path) -> Vec<PathBuf> {
    let real = interpreter.canonicalize().unwrap_or_default();
    let folders = [interpreter.parent(), real.parent()].into_iter().flatten();
    let around = real.parent().filter(|folder| folder.ends_with("bin")).and_then(Path::parent);
    folders.chain(around).map(Path::to_owned).collect()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn an_interpreter_comes_with_its_libraries() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for path in ["versions/3/bin", "install/tools/a/bin", "install/tools/b"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        fs::write(root.join("versions/3/bin/python3"), "").unwrap();
        let link = root.join("install/tools/a/bin/python");
        std::os::unix::fs::symlink(root.join("versions/3/bin/python3"), &link).unwrap();
        let found = pythons(&root.join("install"));
        assert_eq!(found, std::slice::from_ref(&link));
        let expected = ["install/tools/a/bin", "versions/3/bin", "versions/3"].map(|path| root.join(path));
        assert_eq!(interpreter_folders(&found[0]), expected);
        assert_eq!(pythons(&root), [] as [PathBuf; 0]);
    }
}
