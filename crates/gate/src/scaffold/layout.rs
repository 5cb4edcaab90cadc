//! The files of a new registry.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::GithubSpec;
use acp_registry_core::sys::fs::PathError;

/// Every file, with its text. What runs on GitHub is what runs for this project itself.
const FILES: [(&str, &str); 16] = [
    (".github/SETUP.md", include_str!("../../../../templates/init/.github/SETUP.md")),
    (".github/acp-registry.env", include_str!("../../../../templates/init/.github/acp-registry.env")),
    (".github/actions/acp-registry/action.yml", include_str!("../../../../.github/actions/acp-registry/action.yml")),
    (".github/actions/acp-registry/install.sh", include_str!("../../../../.github/actions/acp-registry/install.sh")),
    (".github/dependabot.yml", include_str!("../../../../templates/init/.github/dependabot.yml")),
    (".github/pull_request_template.md", include_str!("../../../../templates/init/.github/pull_request_template.md")),
    (".github/workflows/bump.yml", include_str!("../../../../.github/workflows/bump.yml")),
    (".github/workflows/publish.yml", include_str!("../../../../.github/workflows/publish.yml")),
    (".github/workflows/report.yml", include_str!("../../../../.github/workflows/report.yml")),
    (".github/workflows/validate.yml", include_str!("../../../../.github/workflows/validate.yml")),
    (".github/workflows/verify-part.yml", include_str!("../../../../.github/workflows/verify-part.yml")),
    (".github/workflows/verify.yml", include_str!("../../../../.github/workflows/verify.yml")),
    // By this name it would count for the folder of the templates.
    (".gitignore", include_str!("../../../../templates/init/gitignore")),
    ("CONTRIBUTING.md", include_str!("../../../../templates/init/CONTRIBUTING.md")),
    ("README.md", include_str!("../../../../templates/init/README.md")),
    ("registry.toml", include_str!("../../../../templates/init/registry.toml")),
];

/// Why no registry was laid out.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    /// A folder is a link, and may lead to anything.
    #[error("{} is a link, which is not followed; nothing was written", .0.display())]
    Link(PathBuf),
    /// A file cannot be written; those that were are removed again.
    #[error(transparent)]
    Path(#[from] PathError),
}

/// The result of the files of a new registry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layout {
    /// Those that were written.
    pub written: Vec<&'static str>,
    /// Those that stay as they are, for they were there.
    pub kept: Vec<&'static str>,
}

/// What [`lay_out`] would write and keep.
///
/// # Errors
/// [`LayoutError::Link`].
pub fn would_lay_out(directory: &Path) -> Result<Layout, LayoutError> {
    let (kept, missing) = divide(directory)?;
    Ok(Layout { written: names(missing), kept: names(kept) })
}

/// A file's name and its text.
type File = (&'static str, &'static str);

/// The files that are there, and those that are not.
fn divide(directory: &Path) -> Result<(Vec<File>, Vec<File>), LayoutError> {
    let is_there = |name: &str| directory.join(name).symlink_metadata().is_ok();
    let (kept, missing): (Vec<_>, Vec<_>) = FILES.into_iter().partition(|(name, _)| is_there(name));
    for (name, _) in &missing {
        let folders = Path::new(name).ancestors().skip(1).map(|folder| directory.join(folder));
        if let Some(link) = folders.filter(|folder| folder != directory).find(|folder| folder.is_symlink()) {
            return Err(LayoutError::Link(link));
        }
    }
    Ok((kept, missing))
}

fn names(files: Vec<File>) -> Vec<&'static str> {
    files.into_iter().map(|(name, _)| name).collect()
}

/// Writes the files of a new registry into a directory, which is made if need be. Whatever is there stays as it is.
/// `program` is the release of this program that the registry's workflows will use, as far as it is known; `pages` is the
/// repository of the registry, if it is published on that repository's GitHub Pages.
///
/// # Errors
/// [`LayoutError`]; nothing was then written.
pub fn lay_out(
    directory: &Path,
    program: Option<&GithubSpec>,
    pages: Option<&GithubSpec>,
) -> Result<Layout, LayoutError> {
    let (kept, missing) = divide(directory)?;
    let mut undo = Undo::default();
    for (name, text) in &missing {
        let path = directory.join(name);
        if let Some(folder) = path.parent() {
            undo.make(folder)?;
        }
        let text = filled(text, program);
        undo.write(&path, &pages.map_or_else(|| text.clone(), |pages| on_pages(&text, pages)))?;
    }
    undo.paths.clear();
    Ok(Layout { written: names(missing), kept: names(kept) })
}

/// A text with what is known of the program in its places.
fn filled(text: &str, program: Option<&GithubSpec>) -> String {
    let repository = program.map_or_else(String::new, |program| format!("{}/{}", program.owner, program.name));
    let version = program.and_then(|program| program.tag.clone());
    let version = version.unwrap_or_else(|| concat!("v", env!("CARGO_PKG_VERSION")).to_owned());
    text.replace("{repository}", &repository).replace("{version}", &version)
}

/// The address of `latest/` on the GitHub Pages of a repository.
#[must_use]
pub fn pages_address(repository: &GithubSpec) -> String {
    let host = format!("{}.github.io", repository.owner.to_ascii_lowercase());
    // The repository of this name is shown at the root of its host.
    let is_root = repository.name.eq_ignore_ascii_case(&host);
    if is_root { format!("https://{host}/latest") } else { format!("https://{host}/{}/latest", repository.name) }
}

/// A configuration with the addresses of a registry on GitHub Pages.
fn on_pages(text: &str, repository: &GithubSpec) -> String {
    let GithubSpec { owner, name, .. } = repository;
    let base_url = format!("base-url = \"{}\"", pages_address(repository));
    text.replace("# base-url = \"https://registry.example.com/v1/latest\"", &base_url).replace(
        "# repository = \"https://github.com/example/registry\"",
        &format!("repository = \"https://github.com/{owner}/{name}\""),
    )
}

/// What was made so far, which goes away again unless all of it is there.
#[derive(Default)]
struct Undo {
    paths: Vec<PathBuf>,
}

impl Undo {
    /// Makes a folder and those above it.
    fn make(&mut self, folder: &Path) -> Result<(), PathError> {
        let missing: Vec<&Path> = folder
            .ancestors()
            .take_while(|folder| !folder.as_os_str().is_empty() && folder.symlink_metadata().is_err())
            .collect();
        for folder in missing.into_iter().rev() {
            fs::create_dir(folder).map_err(PathError::at(folder))?;
            self.paths.push(folder.to_owned());
        }
        Ok(())
    }

    /// Writes a file that is not there.
    fn write(&mut self, path: &Path, text: &str) -> Result<(), PathError> {
        let mut write = || -> io::Result<()> {
            let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
            self.paths.push(path.to_owned());
            file.write_all(text.as_bytes())
        };
        write().map_err(PathError::at(path))
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        // What cannot be removed was named in the error, or is a folder that somebody has put something into.
        for path in self.paths.iter().rev() {
            let _ = if path.is_dir() { fs::remove_dir(path) } else { fs::remove_file(path) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_named_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("README.md"), "mine").unwrap();
        let layout = lay_out(folder.path(), None, None).unwrap();
        assert_eq!((layout.kept.as_slice(), layout.written.len()), (&["README.md"][..], FILES.len() - 1));
        assert_eq!(fs::read_to_string(folder.path().join("README.md")).unwrap(), "mine");
        // Whatever stopped an earlier run, the next one completes it.
        fs::remove_file(folder.path().join("registry.toml")).unwrap();
        assert_eq!(lay_out(folder.path(), None, None).unwrap().written, ["registry.toml"]);
        assert_eq!(lay_out(folder.path(), None, None).unwrap().written, [] as [&str; 0]);
    }

    #[test]
    fn pages_have_the_address_of_their_repository() {
        for (repository, address) in [
            ("Example/registry", "https://example.github.io/registry/latest"),
            ("example/Example.github.io", "https://example.github.io/latest"),
        ] {
            let repository: GithubSpec = repository.parse().unwrap();
            assert_eq!(pages_address(&repository), address);
            let folder = tempfile::tempdir().unwrap();
            lay_out(folder.path(), None, Some(&repository)).unwrap();
            let config = crate::config::Config::read(&folder.path().join("registry.toml")).unwrap();
            assert_eq!(config.base_url.as_deref(), Some(address));
            assert!(config.site.repository.is_some());
        }
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_written_through_a_link() {
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::os::unix::fs::symlink(elsewhere.path(), folder.path().join(".github")).unwrap();
        assert!(matches!(lay_out(folder.path(), None, None), Err(LayoutError::Link(_))));
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failure_half_way_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(".github"), "a file in the place of a folder").unwrap();
        assert!(matches!(lay_out(folder.path(), None, None), Err(LayoutError::Path(_))));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let mut undo = Undo::default();
        undo.make(&folder.path().join("a/b")).unwrap();
        undo.write(&folder.path().join("a/b/c"), "c").unwrap();
        assert!(undo.write(&folder.path().join("a/b/c"), "d").is_err());
        drop(undo);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
