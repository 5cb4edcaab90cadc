//! The certificate authorities that the environment names, as OpenSSL, curl and uv read them: instead of the system's.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use super::Problem;
use acp_registry_host::fs::read_bounded;
use acp_registry_plan::text::quote;

/// The variable that names a file of certificates.
const FILE: &str = "SSL_CERT_FILE";

/// The variable that names directories of such files.
const DIRECTORIES: &str = "SSL_CERT_DIR";

/// The largest file that is read, in bytes.
const LIMIT: u64 = 16 << 20;

/// How many files of a directory are read.
const FILES: usize = 10_000;

/// Certificate authorities that a person trusts instead of the system's. That there are some is seen at once, for nothing may be
/// judged without them. All are read for the first connection: what sends no request would spend a third of its time on them.
#[derive(Debug, Clone)]
pub struct Authorities {
    /// The setting that names a file, and that file.
    file: Option<(String, PathBuf)>,
    /// Directories, as `PATH` has them.
    directories: Option<String>,
}

impl Authorities {
    /// The variables that name certificate authorities.
    pub const VARIABLES: [&str; 2] = [FILE, DIRECTORIES];

    /// The authorities that these variables name; `None` where neither is set, so that those of the system are trusted.
    ///
    /// # Errors
    /// [`Problem::Variable`] when there are none where a variable names them.
    pub fn named(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Self>, Problem> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let (file, directories) = (set(FILE), set(DIRECTORIES));
        let file = file.map(|file| (variable_name(FILE), file.into()));
        if file.is_none() && directories.is_none() {
            return Ok(None);
        }
        Self { file, directories }.checked().map(Some)
    }

    /// The authorities of a file, which `setting` names.
    ///
    /// # Errors
    /// [`Problem::Variable`] when it has none.
    pub fn in_file(setting: &str, file: PathBuf) -> Result<Self, Problem> {
        Self { file: Some((setting.to_owned(), file)), directories: None }.checked()
    }

    fn checked(self) -> Result<Self, Problem> {
        self.read(1).map(|_| self)
    }

    /// How many they are.
    ///
    /// # Errors
    /// [`Problem::Variable`] when there are none where a setting names them.
    pub fn count(&self) -> Result<usize, Problem> {
        self.read(usize::MAX).map(|roots| roots.len())
    }

    /// Reads them, or the first `most`.
    pub(super) fn read(&self, most: usize) -> Result<RootCertStore, Problem> {
        let mut reading =
            Reading { roots: RootCertStore::empty(), most, files: HashSet::new(), certificates: HashSet::new() };
        if let Some((setting, file)) = &self.file {
            reading.add(file).map_err(|problem| refused(setting, file, &problem))?;
            if reading.roots.is_empty() {
                return Err(refused(setting, file, NONE));
            }
        }
        if let Some(directories) = &self.directories {
            let named = || std::env::split_paths(directories).filter(|path| !path.as_os_str().is_empty());
            let refused = |problem| refused(&variable_name(DIRECTORIES), Path::new(directories), problem);
            if reading.roots.is_empty() && !named().any(|directory| directory.is_dir()) {
                return Err(refused("is not a directory"));
            }
            for directory in named() {
                // Like OpenSSL: systems name directories that may not exist, and files besides certificates are usual.
                let items = directory.read_dir().into_iter().flatten().take(FILES);
                let paths: Vec<PathBuf> = items.filter_map(|item| Some(item.ok()?.path())).collect();
                for path in paths {
                    let _ = reading.add(&path);
                }
            }
            if reading.roots.is_empty() {
                return Err(refused(NONE));
            }
        }
        Ok(reading.roots)
    }
}

/// The authorities that were read. Systems have each certificate in a file of all, in one of its own, and under links to
/// that: it is parsed once.
struct Reading {
    roots: RootCertStore,
    most: usize,
    files: HashSet<PathBuf>,
    certificates: HashSet<CertificateDer<'static>>,
}

impl Reading {
    /// Adds the certificates of a file. Those that cannot be parsed are left out, as among the system's.
    fn add(&mut self, path: &Path) -> Result<(), String> {
        if self.roots.len() >= self.most {
            return Ok(());
        }
        let cannot = |problem: String| format!("cannot be read: {problem}");
        let real = path.canonicalize().map_err(|error| cannot(error.to_string()))?;
        let root = real.parent().unwrap_or(&real);
        if self.files.contains(&real) {
            return Ok(());
        }
        let bytes = read_bounded(&real, root, LIMIT).map_err(|error| cannot(error.to_string()))?;
        for certificate in CertificateDer::pem_slice_iter(&bytes).flatten() {
            if self.roots.len() >= self.most {
                break;
            }
            if self.certificates.insert(certificate.clone()) {
                let _ = self.roots.add(certificate);
            }
        }
        self.files.insert(real);
        Ok(())
    }
}

const NONE: &str = "has no certificate in the PEM format";

fn variable_name(name: &str) -> String {
    format!("the environment variable {name}")
}

fn refused(setting: &str, path: &Path, problem: &str) -> Problem {
    let shown = quote(&path.display().to_string());
    Problem::Variable(format!("{setting} is {shown}, which {problem}"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn count(pairs: &[(&str, &Path)]) -> Result<Option<usize>, String> {
        let get =
            |name: &str| pairs.iter().find(|(known, _)| *known == name).map(|(_, path)| path.display().to_string());
        let count = |named: Option<Authorities>| named.map(|authorities| authorities.count()).transpose();
        Authorities::named(&get).and_then(count).map_err(|problem| problem.to_string())
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("text"), "no certificate").unwrap();
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        fs::write(path("broken"), broken).unwrap();
        fs::create_dir(path("empty")).unwrap();
        fs::create_dir(path("other")).unwrap();
        fs::write(path("other/README"), broken).unwrap();
        for (name, file, problem) in [
            (FILE, "missing", "which cannot be read: "),
            (FILE, "empty", "which cannot be read: "),
            (FILE, "text", "which has no certificate in the PEM format"),
            (FILE, "broken", "which has no certificate in the PEM format"),
            (DIRECTORIES, "missing", "which is not a directory"),
            (DIRECTORIES, "other", "which has no certificate in the PEM format"),
        ] {
            let message = count(&[(name, &path(file))]).unwrap_err();
            let begin =
                format!("the environment variable {name} is {}, {problem}", quote(&path(file).display().to_string()));
            assert!(message.starts_with(&begin), "{message}");
        }
        assert_eq!(count(&[]), Ok(None));
        assert_eq!(count(&[(FILE, Path::new("")), (DIRECTORIES, Path::new(""))]), Ok(None));
    }
}
