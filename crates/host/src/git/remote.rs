//! Updates branches of a git remote without changing the checkout: commits are created from objects.

use std::path::Path;

use tempfile::NamedTempFile;

use super::{Error, GitCommand, Reach, Repository};

/// Maximum size of git's output, in bytes.
const OUTPUT_LIMIT: u64 = 64 << 20;

/// An author and committer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The name.
    pub name: String,
    /// The email address, which tells commits of this program from those of people.
    pub email: String,
}

/// A remote of the repository that contains a directory.
#[derive(Debug, Clone)]
pub struct Remote {
    repository: Repository,
    name: String,
    reach: Reach,
}

/// A branch of a remote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// The name, without `refs/heads/`.
    pub name: String,
    /// Id of its newest commit.
    pub tip: String,
}

impl Remote {
    /// Finds the remote with this name in the repository that contains `directory`.
    ///
    /// # Errors
    /// Returns [`Error`] if there is no repository, or the remote is a directory of the checkout.
    pub fn new(directory: &Path, name: &str) -> Result<Self, Error> {
        let repository = Repository::around(directory)?;
        let mut remote = Self { repository, name: name.to_owned(), reach: Reach::Network };
        if remote.is_of_this_machine()? {
            remote.reach = Reach::NetworkAndFiles;
        }
        Ok(remote)
    }

    /// Whether the remote is a path. Git runs hooks and commands that such a repository configures, so a path inside
    /// the checkout is an error.
    fn is_of_this_machine(&self) -> Result<bool, Error> {
        let mut is_path = false;
        for direction in [&[][..], &["--push"]] {
            let arguments = [&["get-url", "--all"], direction, &["--", &self.name]].concat();
            // A name without a configured URL may be a URL or path itself.
            let addresses = self.text("remote", &arguments).unwrap_or_else(|_| self.name.clone());
            for address in addresses.lines().filter(|address| is_path_of_this_machine(address)) {
                let top = &self.repository.top;
                if top.join(address).canonicalize().is_ok_and(|path| path.starts_with(top)) {
                    return Err(Error::RemoteInside(self.name.clone()));
                }
                is_path = true;
            }
        }
        Ok(is_path)
    }

    /// The commit that is checked out.
    ///
    /// # Errors
    /// Returns [`Error`] if there are no commits.
    pub fn head(&self) -> Result<String, Error> {
        self.repository.head()
    }

    /// The branch that is checked out; `None` if `HEAD` is detached.
    pub fn current_branch(&self) -> Option<String> {
        self.text("symbolic-ref", &["--quiet", "--short", "HEAD"]).ok()
    }

    /// The configured `user.name` and `user.email`; `None` if one is missing.
    pub fn configured_identity(&self) -> Option<Identity> {
        let value = |key: &str| self.text("config", &["--get", key]).ok().filter(|value| !value.is_empty());
        Some(Identity { name: value("user.name")?, email: value("user.email")? })
    }

    /// The remote's URL, as git resolves it.
    ///
    /// # Errors
    /// Returns [`Error`] if the remote does not exist.
    pub fn address(&self) -> Result<String, Error> {
        self.text("remote", &["get-url", &self.name])
    }

    /// The names of all remotes of the repository.
    ///
    /// # Errors
    /// [`Error`] when git does not say.
    pub fn all(&self) -> Result<Vec<String>, Error> {
        Ok(self.text("remote", &[])?.lines().map(ToOwned::to_owned).collect())
    }

    /// Asks the remote for its branches with a prefix.
    ///
    /// # Errors
    /// Returns [`Error`] if the remote cannot be read.
    pub fn branches(&self, prefix: &str) -> Result<Vec<Branch>, Error> {
        let pattern = format!("refs/heads/{prefix}*");
        let list = self.text("ls-remote", &["--refs", "--heads", "--", &self.name, &pattern])?;
        let branch = |line: &str| {
            let (tip, name) = line.split_once('\t')?;
            Some(Branch { name: name.strip_prefix("refs/heads/")?.to_owned(), tip: tip.to_owned() })
        };
        Ok(list.lines().filter_map(branch).collect())
    }

    /// Whether the newest commit of a branch has this identity as committer. The commit is fetched if missing.
    ///
    /// # Errors
    /// Returns [`Error`] if the remote cannot be read.
    pub fn is_own(&self, branch: &Branch, identity: &Identity) -> Result<bool, Error> {
        if self.text("cat-file", &["-e", &format!("{}^{{commit}}", branch.tip)]).is_err() {
            let from = format!("refs/heads/{}", branch.name);
            self.text(
                "fetch",
                &["--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--", &self.name, &from],
            )?;
        }
        let committer = self.text("show", &["--no-patch", "--no-show-signature", "--format=%ce", &branch.tip])?;
        Ok(committer == identity.email)
    }

    /// The contents of a file at a commit; `None` if it does not exist. `path` is relative to the directory.
    pub fn file_at(&self, commit: &str, path: &str) -> Option<Vec<u8>> {
        let path = format!("{commit}:./{path}");
        self.run("cat-file", &["blob", &path], &[], &[]).ok()
    }

    /// Creates a commit that changes files of its parent, each with its path, without updating a branch. Returns its id.
    ///
    /// # Errors
    /// Returns [`Error`] if git fails.
    pub fn commit(&self, parent: &str, files: &[(&str, &[u8])], message: &str, by: &Identity) -> Result<String, Error> {
        let prefix = self.text("rev-parse", &["--show-prefix"])?;
        // A temporary index, since the checkout's index holds what the user has staged.
        let index = NamedTempFile::new()?.into_temp_path();
        std::fs::remove_file(&index)?;
        let index = index.to_string_lossy().into_owned();
        let own_index = [("GIT_INDEX_FILE", index.as_str())];
        self.run("read-tree", &[parent], &[], &own_index)?;
        for (path, content) in files {
            let full = format!("{prefix}{path}");
            let entry = self.text("ls-tree", &["--full-tree", parent, "--", &full])?;
            let mode = entry.split(' ').next().filter(|mode| mode.len() == 6).unwrap_or("100644").to_owned();
            let blob = self.run("hash-object", &["-w", "--stdin"], content, &[])?;
            let blob = String::from_utf8_lossy(&blob).trim().to_owned();
            let entry = format!("{mode},{blob},{full}");
            self.run("update-index", &["--add", "--cacheinfo", &entry], &[], &own_index)?;
        }
        let tree = self.run("write-tree", &[], &[], &own_index)?;
        // Git may not have created the file; remove it if so.
        let _ = std::fs::remove_file(&index);
        let tree = String::from_utf8_lossy(&tree).trim().to_owned();
        let who = [
            ("GIT_AUTHOR_NAME", by.name.as_str()),
            ("GIT_AUTHOR_EMAIL", &by.email),
            ("GIT_COMMITTER_NAME", &by.name),
            ("GIT_COMMITTER_EMAIL", &by.email),
        ];
        let commit = self.run("commit-tree", &[&tree, "-p", parent], message.as_bytes(), &who)?;
        Ok(String::from_utf8_lossy(&commit).trim().to_owned())
    }

    /// Sets a branch of the remote, if it is still at `old`, or does not exist if `old` is `None`.
    ///
    /// # Errors
    /// Returns [`Error`] if the push fails, including when the branch has changed.
    pub fn push(&self, branch: &str, commit: &str, old: Option<&str>) -> Result<(), Error> {
        self.update(branch, commit, old.unwrap_or_default())
    }

    /// Deletes a branch of the remote, if its tip is unchanged.
    ///
    /// # Errors
    /// Returns [`Error`] if the push fails, including when the branch has changed.
    pub fn delete(&self, branch: &Branch) -> Result<(), Error> {
        self.update(&branch.name, "", &branch.tip)
    }

    fn update(&self, branch: &str, commit: &str, old: &str) -> Result<(), Error> {
        let lease = format!("--force-with-lease=refs/heads/{branch}:{old}");
        let change = format!("{commit}:refs/heads/{branch}");
        self.text("push", &["--quiet", "--no-verify", "--no-recurse-submodules", &lease, "--", &self.name, &change])
            .map(drop)
    }

    fn text(&self, command: &'static str, arguments: &[&str]) -> Result<String, Error> {
        let output = self.run(command, arguments, &[], &[])?;
        Ok(String::from_utf8_lossy(&output).trim_end_matches(['\n', '\r']).to_owned())
    }

    fn run(
        &self,
        command: &'static str,
        arguments: &[&str],
        input: &[u8],
        variables: &[(&str, &str)],
    ) -> Result<Vec<u8>, Error> {
        GitCommand { variables, reach: self.reach, ..self.repository.call(command, arguments) }
            .output(input, OUTPUT_LIMIT)
    }
}

/// Whether git treats a URL as a local path.
fn is_path_of_this_machine(address: &str) -> bool {
    // `host:path` is for ssh, `helper::address` for a remote helper, and everything else with a colon is a URL.
    let is_host = address.split('/').next().is_some_and(|first| first.contains(':'));
    Path::new(address).is_absolute() || !is_host
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "a test needs a repository")]
    fn git(directory: &Path, arguments: &[&str]) -> String {
        let identity = ["-c", "user.name=P", "-c", "user.email=p@example.com", "-c", "init.defaultBranch=main"];
        let output =
            std::process::Command::new("git").args(identity).args(arguments).current_dir(directory).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// A clone with a registry in a folder, and its bare remote.
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
        let remote = Remote::new(&work.join("registry"), "origin").unwrap();
        (folder, remote)
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
        let commit =
            remote.commit(&head, &[("a/agent.json", b"new")], "Update a to 1.1.0\n\nBecause.", &bot()).unwrap();
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
        let again = remote.commit(&head, &[("a/agent.json", b"newer")], "Update a to 1.2.0", &bot()).unwrap();
        assert!(matches!(remote.push("bump/a", &again, None), Err(Error::Failed { .. })), "it was made meanwhile");
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
        let commit = remote.commit(&head, &[("a/agent.json", b"new")], "Update", &bot()).unwrap();
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
