//! Branches of a git remote, written without touching the checkout: commits are made from objects, not from files.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::NamedTempFile;

/// Why git did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program could not be started, or not be fed.
    #[error("cannot run `git`: {0}")]
    Start(#[from] io::Error),
    /// It ended with an error.
    #[error("`git {command}` failed: {message}")]
    Failed {
        /// The subcommand.
        command: String,
        /// What git wrote, on one line, without control characters and without addresses, which may hold secrets.
        message: String,
    },
}

/// Who makes commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The name.
    pub name: String,
    /// The address, by which commits of this program are known from those of persons.
    pub email: String,
}

/// A remote of the repository around a directory.
#[derive(Debug, Clone)]
pub struct Remote {
    directory: PathBuf,
    name: String,
}

/// A branch of a remote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// Its name, without `refs/heads/`.
    pub name: String,
    /// The commit it leads to.
    pub tip: String,
}

impl Remote {
    /// The remote of this name; `directory` is in the repository.
    #[must_use]
    pub fn new(directory: &Path, name: &str) -> Self {
        Self { directory: directory.to_owned(), name: name.to_owned() }
    }

    /// The commit that is checked out.
    ///
    /// # Errors
    /// [`Error`], also when there is no commit yet.
    pub fn head(&self) -> Result<String, Error> {
        self.text(&["rev-parse", "--verify", "HEAD^{commit}"])
    }

    /// The branch that is checked out; `None` when none is.
    #[must_use]
    pub fn current_branch(&self) -> Option<String> {
        self.text(&["symbolic-ref", "--quiet", "--short", "HEAD"]).ok()
    }

    /// Who git is configured to commit as; `None` where it is not.
    #[must_use]
    pub fn configured_identity(&self) -> Option<Identity> {
        let value = |key: &str| self.text(&["config", "--get", key]).ok().filter(|value| !value.is_empty());
        Some(Identity { name: value("user.name")?, email: value("user.email")? })
    }

    /// The remote's address, as git is configured.
    ///
    /// # Errors
    /// [`Error`] when there is no such remote.
    pub fn address(&self) -> Result<String, Error> {
        self.text(&["remote", "get-url", &self.name])
    }

    /// The remote's branches whose names begin with a prefix, as they are there now.
    ///
    /// # Errors
    /// [`Error`] when the remote cannot be asked.
    pub fn branches(&self, prefix: &str) -> Result<Vec<Branch>, Error> {
        let pattern = format!("refs/heads/{prefix}*");
        let list = self.text(&["ls-remote", "--refs", "--heads", "--", &self.name, &pattern])?;
        let branch = |line: &str| {
            let (tip, name) = line.split_once('\t')?;
            Some(Branch { name: name.strip_prefix("refs/heads/")?.to_owned(), tip: tip.to_owned() })
        };
        Ok(list.lines().filter_map(branch).collect())
    }

    /// Fetches a branch's newest commit, and tells whether it is one that this identity has committed.
    ///
    /// # Errors
    /// [`Error`] when the remote cannot be asked.
    pub fn is_own(&self, branch: &Branch, identity: &Identity) -> Result<bool, Error> {
        if self.text(&["cat-file", "-e", &format!("{}^{{commit}}", branch.tip)]).is_err() {
            let from = format!("refs/heads/{}", branch.name);
            self.text(&["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--", &self.name, &from])?;
        }
        let committer = self.text(&["show", "--no-patch", "--no-show-signature", "--format=%ce", &branch.tip])?;
        Ok(committer == identity.email)
    }

    /// The content of a file at a commit; `None` when there is none. The path is relative to the directory.
    #[must_use]
    pub fn file_at(&self, commit: &str, path: &str) -> Option<Vec<u8>> {
        let path = format!("{commit}:./{path}");
        self.run(&["cat-file", "blob", &path], None, &[]).ok()
    }

    /// Makes a commit that differs from another one in one file; nothing leads to it yet.
    ///
    /// # Errors
    /// [`Error`], also when the file is not there.
    pub fn commit(
        &self,
        parent: &str,
        path: &str,
        content: &[u8],
        message: &str,
        by: &Identity,
    ) -> Result<String, Error> {
        let prefix = self.text(&["rev-parse", "--show-prefix"])?;
        let full = format!("{prefix}{path}");
        let entry = self.text(&["ls-tree", "--full-tree", parent, "--", &full])?;
        let mode = entry.split(' ').next().filter(|mode| mode.len() == 6).unwrap_or("100644").to_owned();
        let blob = self.run(&["hash-object", "-w", "--stdin"], Some(content), &[])?;
        let blob = String::from_utf8_lossy(&blob).trim().to_owned();
        // An index of its own: the checkout's says what a person is about to commit.
        let index = NamedTempFile::new()?.into_temp_path();
        std::fs::remove_file(&index)?;
        let index = index.to_string_lossy().into_owned();
        let own_index = [("GIT_INDEX_FILE", index.as_str())];
        self.run(&["read-tree", parent], None, &own_index)?;
        let entry = format!("{mode},{blob},{full}");
        self.run(&["update-index", "--add", "--cacheinfo", &entry], None, &own_index)?;
        let tree = self.run(&["write-tree"], None, &own_index)?;
        // Another program may not have made one at this place, which is removed in any case.
        let _ = std::fs::remove_file(&index);
        let tree = String::from_utf8_lossy(&tree).trim().to_owned();
        let who = [
            ("GIT_AUTHOR_NAME", by.name.as_str()),
            ("GIT_AUTHOR_EMAIL", &by.email),
            ("GIT_COMMITTER_NAME", &by.name),
            ("GIT_COMMITTER_EMAIL", &by.email),
        ];
        let commit = self.run(&["commit-tree", &tree, "-p", parent], Some(message.as_bytes()), &who)?;
        Ok(String::from_utf8_lossy(&commit).trim().to_owned())
    }

    /// Sets a branch of the remote, if it is still where it was: at `old`, or not there.
    ///
    /// # Errors
    /// [`Error`], also when somebody else was quicker.
    pub fn push(&self, branch: &str, commit: &str, old: Option<&str>) -> Result<(), Error> {
        self.update(branch, commit, old.unwrap_or_default())
    }

    /// Takes a branch of the remote away, if it is still at `old`.
    ///
    /// # Errors
    /// [`Error`], also when somebody else was quicker.
    pub fn delete(&self, branch: &Branch) -> Result<(), Error> {
        self.update(&branch.name, "", &branch.tip)
    }

    fn update(&self, branch: &str, commit: &str, old: &str) -> Result<(), Error> {
        let lease = format!("--force-with-lease=refs/heads/{branch}:{old}");
        let change = format!("{commit}:refs/heads/{branch}");
        self.text(&["push", "--quiet", "--no-verify", &lease, "--", &self.name, &change]).map(drop)
    }

    fn text(&self, arguments: &[&str]) -> Result<String, Error> {
        let output = self.run(arguments, None, &[])?;
        Ok(String::from_utf8_lossy(&output).trim_end_matches(['\n', '\r']).to_owned())
    }

    #[expect(clippy::disallowed_methods, reason = "this is where git is started")]
    fn run(&self, arguments: &[&str], input: Option<&[u8]>, variables: &[(&str, &str)]) -> Result<Vec<u8>, Error> {
        let mut child = Command::new("git")
            // A checkout must not be able to name a program that git would run, and nobody is there to be asked.
            .args([
                "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "commit.gpgSign=false",
                "--no-pager",
            ])
            .args(arguments)
            .current_dir(&self.directory)
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            .envs(variables.iter().copied())
            .stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        if let (Some(input), Some(mut stdin)) = (input, child.stdin.take()) {
            // What git makes of a half-fed input shows in its exit code.
            let _ = stdin.write_all(input);
        }
        let output = child.wait_with_output()?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let text = String::from_utf8_lossy(&output.stderr);
        let line = text
            .lines()
            .find(|line| line.contains("rejected") || line.starts_with("fatal:") || line.starts_with("error:"));
        let line = line.or_else(|| text.lines().find(|line| !line.trim().is_empty())).unwrap_or("no message");
        let is_address = |word: &&str| word.contains("://");
        let words: Vec<&str> =
            line.split_whitespace().map(|word| if is_address(&word) { "(address)" } else { word }).collect();
        let message = crate::text::printable(&words.join(" ")).into_owned();
        Err(Error::Failed { command: arguments.first().copied().unwrap_or_default().to_owned(), message })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "a test needs a repository")]
    fn git(directory: &Path, arguments: &[&str]) -> String {
        let identity = ["-c", "user.name=P", "-c", "user.email=p@example.com", "-c", "init.defaultBranch=main"];
        let output = Command::new("git").args(identity).args(arguments).current_dir(directory).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// A checkout with a registry in a folder, and its bare remote.
    fn repository() -> (tempfile::TempDir, Remote) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        git(path, &["init", "-q", "--bare", "remote"]);
        git(path, &["init", "-q", "work"]);
        let work = path.join("work");
        git(&work, &["remote", "add", "origin", "../remote"]);
        std::fs::create_dir_all(work.join("registry/a")).unwrap();
        std::fs::write(work.join("registry/a/agent.json"), "old").unwrap();
        std::fs::write(work.join("other"), "other").unwrap();
        git(&work, &["add", "."]);
        git(&work, &["commit", "-q", "-m", "one"]);
        (folder, Remote::new(&work.join("registry"), "origin"))
    }

    fn bot() -> Identity {
        Identity { name: "Bot".to_owned(), email: "bot@example.com".to_owned() }
    }

    #[test]
    fn a_commit_changes_one_file_and_nothing_in_the_checkout() {
        let (folder, remote) = repository();
        let work = folder.path().join("work");
        std::fs::write(work.join("other"), "being worked on").unwrap();
        git(&work, &["add", "other"]);
        let head = remote.head().unwrap();
        let commit = remote.commit(&head, "a/agent.json", b"new", "Update a to 1.1.0\n\nBecause.", &bot()).unwrap();
        assert_eq!(git(&work, &["diff", "--name-only", &head, &commit]), "registry/a/agent.json");
        assert_eq!(remote.file_at(&commit, "a/agent.json").as_deref(), Some(&b"new"[..]));
        assert_eq!(remote.file_at(&commit, "b/agent.json"), None);
        assert_eq!(git(&work, &["status", "--short"]), "M  other");
        assert_eq!(
            git(&work, &["show", "-s", "--format=%an %ce %s", &commit]),
            "Bot bot@example.com Update a to 1.1.0"
        );

        remote.push("bump/a", &commit, None).unwrap();
        let branches = remote.branches("bump/").unwrap();
        assert_eq!(branches, [Branch { name: "bump/a".to_owned(), tip: commit.clone() }]);
        assert!(remote.is_own(&branches[0], &bot()).unwrap());
        let again = remote.commit(&head, "a/agent.json", b"newer", "Update a to 1.2.0", &bot()).unwrap();
        assert!(
            matches!(remote.push("bump/a", &again, None), Err(Error::Failed { .. })),
            "somebody has made it meanwhile"
        );
        remote.push("bump/a", &again, Some(&commit)).unwrap();
        assert!(remote.delete(&branches[0]).is_err(), "it has moved");
        remote.delete(&Branch { name: "bump/a".to_owned(), tip: again }).unwrap();
        assert_eq!(remote.branches("bump/").unwrap(), []);
    }

    #[test]
    fn a_branch_with_a_person_s_commit_is_not_one_s_own() {
        let (folder, remote) = repository();
        let other = folder.path().join("other");
        let head = remote.head().unwrap();
        let commit = remote.commit(&head, "a/agent.json", b"new", "Update", &bot()).unwrap();
        remote.push("bump/a", &commit, None).unwrap();
        git(folder.path(), &["clone", "-q", "-b", "bump/a", "remote", "other"]);
        std::fs::write(other.join("registry/a/agent.json"), "better").unwrap();
        git(&other, &["commit", "-q", "-a", "-m", "by hand"]);
        git(&other, &["push", "-q"]);
        let branches = remote.branches("bump/").unwrap();
        assert!(!remote.is_own(&branches[0], &bot()).unwrap());
    }

    #[test]
    fn a_message_of_git_has_no_address_in_it() {
        let (folder, remote) = repository();
        git(&folder.path().join("work"), &["remote", "set-url", "origin", "https://user:secret@127.0.0.1:1/x"]);
        let error = remote.branches("bump/").unwrap_err().to_string();
        assert!(error.contains("ls-remote") && !error.contains("secret"), "{error}");
    }
}
