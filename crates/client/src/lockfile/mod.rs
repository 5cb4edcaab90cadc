//! LOCK: versions with the digests of their files, in a file that gives the same installation elsewhere.
//!
//! * [`LockFile`]: the file
//! * [`Locked`], [`LockedArchive`], [`LockedPackage`]: its entry for an agent
//! * [`Locker`]: makes an entry from an offer

mod make;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use acp_registry_host::fs::{PathError, ReadError, check_writable, read_bounded, write_atomic};
use acp_registry_host::lock::{self, Lock};
use acp_registry_plan::closure;
use acp_registry_plan::digest::{InvalidDigest, Sha256};
use acp_registry_plan::failure::Failure;
use acp_registry_plan::manifest::{AgentId, BinaryTarget, Distribution, NpmSpec, Package, PackageKind};
use acp_registry_plan::position::Span;
use acp_registry_plan::text::{printable, quote};
use serde::{Deserialize, Serialize};
use toml::Spanned;
use toml::de::DeTable;

use crate::install::{Expected, Kind};
use crate::resolve::{Offer, OfferOrigin};
pub use make::Locker;

/// The usual name of the file.
pub const NAME: &str = "acp-registry.lock";

/// The largest lock file that is read, in bytes.
const LOCK_FILE_LIMIT: u64 = 32 << 20;

/// How many keys and values it has at most: those of some 10,000 agents.
const SIGNS: usize = 200_000;

const HEAD: &str = "# Written by `acp-registry install --lock`, and obeyed by `acp-registry install --locked`.\n\
                    # Comments are not kept when it is written again.\n\n";

/// Why a lock file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be read.
    #[error("the lock file {}: {error}", .path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why not.
        error: ReadError,
    },
    /// It is not as this program writes it.
    #[error("the lock file {}: {message}", .path.display())]
    Form {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// It has an entry that proves nothing, or that would make npm or uv do more than fetch packages by their digests.
    #[error("the lock file {}: {place}: {problem}", .path.display())]
    Entry {
        /// Which.
        path: PathBuf,
        /// The entry, by its keys.
        place: String,
        /// What is wrong.
        problem: String,
    },
}

impl Error {
    /// What to do about it, where that is known.
    #[must_use]
    pub fn remedy(&self) -> Option<String> {
        let (path, word) = match self {
            Self::Read { path, error: ReadError::NotFound } => (path, "write it"),
            Self::Form { path, .. } | Self::Entry { path, .. } => {
                (path, "name another file with `--lock`; if this one is acp-registry's, remove it, and write it again")
            }
            Self::Read { .. } => return Some("make it a readable file, or name another with `--lock`".to_owned()),
        };
        Some(format!("{word} with `acp-registry install ID --lock {}`", path.display()))
    }
}

/// A lock file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockFile {
    schema: u32,
    /// By id.
    #[serde(default)]
    pub agents: BTreeMap<AgentId, Locked>,
}

/// One version of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Locked {
    /// The version.
    pub version: String,
    /// SHA-256 of the index that this is from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index_sha256: Option<String>,
    /// The address of the repository that must have built it, where its publisher was checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// The archives by platform.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub binary: BTreeMap<String, LockedArchive>,
    /// The package for `npx`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub npx: Option<LockedPackage>,
    /// The package for `uvx`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uvx: Option<LockedPackage>,
}

/// The archive of one platform.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedArchive {
    /// Its address.
    pub archive: String,
    /// Its SHA-256; `None` where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Where the digest comes from: `manifest`, `github`, or `none` for the bytes that the host has sent or that were installed
    /// by another lock file.
    pub verified: String,
    /// Program to start.
    pub cmd: String,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Its variables.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
}

/// A package with its dependencies.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedPackage {
    /// Name and version.
    pub package: String,
    /// The command that is started, where the manifest names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The last day whose releases are in the list, where the manifest names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclude_newer: Option<String>,
    /// Integrity value of the package itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub integrity: Option<String>,
    /// The version of Python that the list is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub python: Option<String>,
    /// Arguments of the program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Variables of the program.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// All packages with their digests, as the package manager reads them; `None` where it could not be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packages: Option<String>,
}

impl LockFile {
    /// Reads a lock file.
    ///
    /// # Errors
    /// [`Error`].
    pub fn read(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let failed = |error| Error::Read { path: path.to_owned(), error };
        let real = path.canonicalize().map_err(|error| failed(error.into()))?;
        let bytes = read_bounded(&real, &real, LOCK_FILE_LIMIT).map_err(failed)?;
        let file = Self::parse(&bytes).map_err(|message| Error::Form { path: path.to_owned(), message })?;
        file.check().map_err(|(keys, problem)| {
            let place = format!("line {}: {}", line(&String::from_utf8_lossy(&bytes), &keys), quote(&keys));
            Error::Entry { path: path.to_owned(), place, problem }
        })?;
        Ok(file)
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        // A checkout on Windows may have its line ends also in the lists, which are the same lists.
        let text = &std::str::from_utf8(bytes).map_err(|error| error.to_string())?.replace("\r\n", "\n");
        if signs(text) > SIGNS {
            return Err(format!("it has more than {SIGNS} keys and values"));
        }
        // In a checkout of a stranger, it may be a link to another file, which is not to be quoted.
        let place = |error: toml::de::Error| {
            let span = Span::of(text, error.span().unwrap_or_default());
            format!("line {}: {}", span.line, error.message())
        };
        let file: Self = toml::from_str(text).map_err(place)?;
        if file.schema != 1 {
            return Err(format!("form {} is of another version of this program", file.schema));
        }
        Ok(file)
    }

    /// Refuses an entry that proves nothing or contradicts itself: the keys of the value, and what is wrong with it.
    fn check(&self) -> Result<(), (String, String)> {
        self.agents.iter().try_for_each(|(id, agent)| {
            agent.check().map_err(|(place, problem)| (format!("agents.{id}.{place}"), problem))
        })
    }

    /// The text of the file: the same for the same agents.
    #[must_use]
    pub fn text(&self) -> String {
        let file = Self { schema: 1, agents: self.agents.clone() };
        format!("{HEAD}{}", toml::to_string_pretty(&file).unwrap_or_default())
    }

    /// The file at a path, or a new one if there is none.
    ///
    /// # Errors
    /// [`Error`] when it cannot be read.
    pub fn read_or_new(path: &Path) -> Result<Self, Error> {
        Ok(if path.exists() { Self::read(path)? } else { Self::default() })
    }

    /// The file itself, where links lead to it, if it can be written.
    ///
    /// # Errors
    /// [`Failure`] when it is read-only or a link to nothing, or its directory cannot be written.
    pub fn target(path: &Path) -> Result<PathBuf, Failure> {
        let unwritable = |error: PathError| error.unwritable("--lock");
        if path.is_symlink() && !path.exists() {
            return Err(unwritable(PathError::in_the_way(path, "a symbolic link to a file that is not there")));
        }
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        // Replacing a file needs no permission to write it, but who took that permission away wants it to stay.
        if real.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().readonly()) {
            let failure = Failure::unable(format!("the lock file {} is read-only", path.display()));
            return Err(failure.help("make it writable, or name another file with --lock"));
        }
        check_writable(&real).map_err(unwritable)?;
        Ok(real)
    }

    /// Adds entries to the file at a path, in the place of those of the same agents. Another process that writes it is waited
    /// for. A file that has these entries stays as it is, with its comments.
    ///
    /// # Errors
    /// [`Failure`] when it cannot be read or written, or another process does not end.
    pub async fn add(path: &Path, entries: BTreeMap<AgentId, Locked>, patience: Duration) -> Result<(), Failure> {
        let unwritable = |error: PathError| error.unwritable("--lock");
        let real = Self::target(path)?;
        let lock = Lock::wait(&lock::beside(&real), "writing the lock file", patience, &|_| ()).await;
        let busy = |holder: String| {
            let message = format!("the lock file {} is in use: {}", path.display(), printable(&holder));
            Failure::unable(message).help("wait until it has ended, or name another file with --lock")
        };
        let lock = lock.map_err(unwritable)?.map_err(busy)?;
        let written = Self::read_or_new(path).map_err(Failure::from).and_then(|old| {
            let mut file = old.clone();
            file.agents.extend(entries);
            if file != old || !real.exists() { file.write(&real).map_err(unwritable) } else { Ok(()) }
        });
        lock.remove();
        written
    }

    /// Writes the file, in one step.
    ///
    /// # Errors
    /// [`PathError`] when it cannot be written, or would be larger than the limit for reading; the old file is
    /// kept.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), PathError> {
        let path = path.as_ref();
        let mut text = self.text();
        // As a checkout on Windows has them.
        if read_bounded(path, path, LOCK_FILE_LIMIT).is_ok_and(|old| old.windows(2).any(|pair| pair == b"\r\n")) {
            text = text.replace('\n', "\r\n");
        }
        if text.len() as u64 > LOCK_FILE_LIMIT {
            let error = io::Error::other(format!(
                "it would be larger than {LOCK_FILE_LIMIT} bytes; lock fewer agents in one file"
            ));
            return Err(PathError { path: path.to_owned(), error });
        }
        write_atomic(path, text.as_bytes())
    }
}

impl Locked {
    /// Refuses digests that prove nothing, lists that would make npm or uv do anything other than fetch packages by their
    /// digests, and packages of another version.
    pub(crate) fn check(&self) -> Result<(), (String, String)> {
        type Check = fn(&str) -> Result<(), String>;
        let none = LockedPackage::default();
        let (npx, uvx) = (self.npx.as_ref().unwrap_or(&none), self.uvx.as_ref().unwrap_or(&none));
        let of_packages: [(&str, &Option<String>, Check); 4] = [
            ("npx.integrity", &npx.integrity, closure::check_integrity),
            ("npx.packages", &npx.packages, closure::check_npm),
            ("uvx.python", &uvx.python, closure::check_python),
            ("uvx.packages", &uvx.packages, closure::check_uv),
        ];
        for (place, value, check) in of_packages {
            value.as_deref().map_or(Ok(()), check).map_err(|problem| (place.to_owned(), problem))?;
        }
        if let (Some(integrity), Some(list)) = (&npx.integrity, &npx.packages)
            && let Ok(spec) = npx.package.parse::<NpmSpec>()
        {
            let same = closure::check_same(list, &spec.name, integrity);
            same.map_err(|problem| ("npx.integrity".to_owned(), problem))?;
        }
        if let (Some(list), Ok(spec)) = (&npx.packages, npx.package.parse::<NpmSpec>()) {
            closure::check_version(list, &spec).map_err(|problem| ("npx.packages".to_owned(), problem))?;
        }
        if let Some(list) = &uvx.packages {
            let is_own = closure::check_requirement(list, &uvx.package);
            is_own.map_err(|problem| ("uvx.packages".to_owned(), problem))?;
        }
        for (platform, archive) in &self.binary {
            let Some(text) = &archive.sha256 else { continue };
            let refused = |error: InvalidDigest| {
                (format!("binary.{platform}.sha256"), format!("{} is refused: {error}", quote(text)))
            };
            text.parse::<Sha256>().map_err(refused)?;
        }
        for (kind, package) in [(PackageKind::Npx, &npx.package), (PackageKind::Uvx, &uvx.package)] {
            if let Some(found) = kind.other_version(package, &self.version) {
                let problem = format!("the package has version {}, the agent {}", quote(&found), quote(&self.version));
                return Err((format!("{}.package", kind.as_str()), problem));
            }
        }
        Ok(())
    }

    /// The entry as an offer, from which a plan can be made.
    #[must_use]
    pub fn offer(&self) -> Offer {
        let pairs = |env: &BTreeMap<String, String>| env.clone().into_iter().collect::<Vec<_>>();
        let package = |locked: &LockedPackage| Package {
            package: locked.package.clone(),
            command: locked.command.clone(),
            exclude_newer: locked.exclude_newer.clone(),
            args: locked.args.clone(),
            env: pairs(&locked.env),
        };
        let binary = self.binary.iter().map(|(platform, locked)| BinaryTarget {
            platform: platform.clone(),
            archive: locked.archive.clone(),
            cmd: locked.cmd.clone(),
            sha256: None,
            args: locked.args.clone(),
            env: pairs(&locked.env),
        });
        let digests = self.binary.iter().map(|(platform, locked)| {
            (platform.clone(), Expected { sha256: locked.sha256.clone(), ..Expected::default() })
        });
        let packages = [(Kind::Npx, &self.npx), (Kind::Uvx, &self.uvx)].into_iter().filter_map(|(kind, locked)| {
            let locked = locked.as_ref()?;
            let (packages, python) = (locked.packages.clone(), locked.python.clone());
            Some((kind.as_str().to_owned(), Expected { packages, python, ..Expected::default() }))
        });
        Offer {
            origin: OfferOrigin::Lock,
            version: self.version.clone(),
            expected: digests.chain(packages).collect(),
            distribution: Distribution {
                binary: binary.collect(),
                npx: self.npx.as_ref().map(package),
                uvx: self.uvx.as_ref().map(package),
            },
            index_sha256: self.index_sha256.clone(),
            repository: self.repository.clone(),
        }
    }
}

/// The line of the last of these keys that is there, of a text that is TOML.
fn line(text: &str, keys: &str) -> usize {
    let root = DeTable::parse(text).ok();
    let (mut span, mut table) = (0..0, root.as_ref().map(Spanned::get_ref));
    for key in keys.split('.') {
        let Some((name, value)) = table.and_then(|table| table.iter().find(|(name, _)| *name.get_ref() == key)) else {
            break;
        };
        (span, table) = (name.span(), value.get_ref().as_table());
    }
    Span::of(text, span).line
}

/// How many keys, values and tables a text has at most, by the signs outside strings and comments.
fn signs(text: &str) -> usize {
    let mut count = 0;
    let mut rest = text.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        rest = match byte {
            b'"' | b'\'' => behind_string(byte, behind),
            b'#' => &behind[behind.iter().position(|&byte| byte == b'\n').unwrap_or(behind.len())..],
            _ => {
                count += usize::from(b"=,[{".contains(&byte));
                behind
            }
        };
    }
    count
}

/// What follows a string whose first quote was read.
fn behind_string(quote: u8, text: &[u8]) -> &[u8] {
    let has_escapes = quote == b'"';
    let long = [quote; 3];
    // Two quotes and no third are an empty string.
    if text.first() == Some(&quote) && text.get(1) != Some(&quote) {
        return &text[1..];
    }
    let is_long = text.starts_with(&long[1..]);
    // A string without an end ends with its line, unless it is a multi-line string.
    let end = if is_long { &long[..] } else { &long[..1] };
    let mut at = if is_long { 2 } else { 0 };
    while at < text.len() {
        match text[at] {
            b'\\' if has_escapes => at += 2,
            b'\n' if !is_long => return &text[at..],
            _ if text[at..].starts_with(end) => return &text[at + end.len()..],
            _ => at += 1,
        }
    }
    &[]
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let help = error.remedy();
        let failure = match &error {
            Error::Entry { .. } => Self::refused(error),
            Error::Read { .. } | Error::Form { .. } => Self::unable(error),
        };
        failure.help_if(help)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_that_prove_nothing_or_that_npm_and_uv_would_obey_are_refused_by_place() {
        for (lines, place, problem) in [
            (
                "npx]\npackage = 'p@1'\npackages = '{ \"packages\": { \"node_modules/a\": { \"version\": \"1.0.0\" } } }'",
                "npx.packages",
                "no integrity",
            ),
            ("npx]\npackage = 'p@1'\nintegrity = 'sha1-x'", "npx.integrity", "not one SHA-512 digest"),
            (
                &format!(
                    "npx]\npackage = 'p@1.0.0'\nintegrity = 'sha512-{}=='\npackages = '{{ \"packages\": {{ \"node_modules/p\": \
                     {{ \"version\": \"1.0.0\", \"integrity\": \"sha512-{}==\" }} }} }}'",
                    "A".repeat(86),
                    format_args!("{}Q", "A".repeat(85)),
                ),
                "npx.integrity",
                "is not the integrity value of `p`",
            ),
            (
                &format!(
                    "npx]\npackage = 'p@1.0.0'\npackages = '{{ \"packages\": {{ \"node_modules/p\": {{ \"version\": \"1.1.0\", \"integrity\": \"sha512-{}==\" }} }} }}'",
                    "A".repeat(86),
                ),
                "npx.packages",
                "the version of `p` in it is `1.1.0`",
            ),
            ("uvx]\npackage = 'p==1'\npackages = '-r /etc/passwd'", "uvx.packages", "is not `NAME==VERSION"),
            ("uvx]\npackage = 'p==1'\npackages = 'p==1 --hash=md5:00'", "uvx.packages", "is not `NAME==VERSION"),
            (
                &format!("uvx]\npackage = 'p==1'\npackages = 'p==2 --hash=sha256:{}'", "0".repeat(64)),
                "uvx.packages",
                "it is not of `p==1`",
            ),
            ("uvx]\npackage = 'p==1'\npython = '/bin/sh'", "uvx.python", "not a version of Python"),
            (
                "binary.x]\narchive = 'a'\nverified = 'manifest'\ncmd = 'c'\nsha256 = 'ab'",
                "binary.x.sha256",
                "`ab` is refused: a SHA-256 digest has 64",
            ),
        ] {
            let text = format!("schema = 1\n[agents.a]\nversion = '1'\n[agents.a.{lines}\n");
            let (found, refusal) = LockFile::parse(text.as_bytes()).unwrap().check().unwrap_err();
            assert!(found == format!("agents.a.{place}") && refusal.contains(problem), "{found} {refusal}");
        }
    }

    #[test]
    fn the_version_is_that_of_the_package() {
        for (kind, package, other) in [
            ("npx", "p@0.0.34", Some("0.0.34")),
            ("npx", "p@0.0.33", None),
            ("uvx", "p==0.0.34", Some("0.0.34")),
            ("uvx", "p==0.0.33.post1", None),
        ] {
            let text = format!(
                "schema = 1\n[agents.a]\nversion = '0.0.33'\n\n[agents.a.{kind}]\n# Mine\npackage = '{package}'\n"
            );
            let refused = LockFile::parse(text.as_bytes()).unwrap().check().err();
            let expected = other.map(|other| {
                (format!("agents.a.{kind}.package"), format!("the package has version `{other}`, the agent `0.0.33`"))
            });
            assert_eq!(refused, expected, "{text}");
            assert_eq!(line(&text, &format!("agents.a.{kind}.package")), 7);
        }
    }

    #[test]
    fn what_is_written_is_read_and_written_the_same() {
        let archive = LockedArchive {
            archive: "https://h.example/a".into(),
            sha256: Some("ab".repeat(32)),
            verified: "manifest".into(),
            cmd: "./a b".into(),
            args: vec!["--x=\"y\"".into()],
            env: [("K".to_owned(), "é\n".to_owned())].into(),
        };
        let package = LockedPackage {
            package: "p@1.0.0".into(),
            packages: Some("{\n  \"packages\": {},\n  \"a\": \"'''1'''\"\n}\n".into()),
            ..LockedPackage::default()
        };
        let agent = Locked {
            version: "1.0.0".into(),
            binary: [("linux-x86_64".to_owned(), archive)].into(),
            npx: Some(package.clone()),
            uvx: Some(LockedPackage {
                python: Some("3.12".into()),
                packages: Some(format!("p==1.0.0 \\\n    --hash=sha256:{}\n", "0".repeat(64))),
                command: Some("p-acp".into()),
                exclude_newer: Some("2026-02-28".into()),
                ..package
            }),
            ..Locked::default()
        };
        let file = LockFile {
            schema: 1,
            agents: [("b".parse().unwrap(), agent.clone()), ("a".parse().unwrap(), agent)].into(),
        };
        let text = file.text();
        assert_eq!(LockFile::parse(text.as_bytes()).unwrap(), file);
        assert_eq!(LockFile::parse(text.as_bytes()).unwrap().text(), text);
        assert_eq!(LockFile::parse(text.replace('\n', "\r\n").as_bytes()).unwrap(), file);
        assert!(text.find("[agents.a]") < text.find("[agents.b]"), "{text}");
        let offer = file.agents["a"].offer();
        assert_eq!(offer.expected[0].1.sha256, Some("ab".repeat(32)));
        assert_eq!(offer.distribution.npx.unwrap().package, "p@1.0.0");
        let uvx = offer.distribution.uvx.unwrap();
        assert_eq!((uvx.command.as_deref(), uvx.exclude_newer.as_deref()), (Some("p-acp"), Some("2026-02-28")));
    }

    #[test]
    fn what_is_no_lock_file_is_refused() {
        for (text, part) in [
            ("", "missing field `schema`"),
            ("schema = 2", "form 2"),
            ("schema = 1\nmore = 1", "unknown field"),
            ("schema = 1\n[agents.a]\n", "missing field `version`"),
            ("schema = 1\n[agents.'../a']\nversion = '1'\n", "`../a` is not a valid id"),
            ("{", "line 1: "),
            (&format!("schema = 1\nx = [{}]", "0,".repeat(SIGNS)), "more than 200000 keys and values"),
        ] {
            let error = LockFile::parse(text.as_bytes()).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
        assert!(LockFile::parse(b"\xff").is_err());
        let error = LockFile::parse(b"schema = 1\nTOKEN=a secret of a person").unwrap_err();
        assert!(error.starts_with("line 2: ") && !error.contains("secret"), "{error}");
    }

    #[test]
    fn signs_count_outside_strings_and_comments() {
        for (text, expected) in [
            ("", 0),
            ("a = 1\nb = [1, 2]\n", 4),
            ("[a]\nb = {c = 1}", 4),
            ("a = \"=,[{\" # =,[{\nb = 1", 2),
            ("a = '=,[{\\'\nb = 1", 2),
            ("a = \"\\\"=\\\\\"\nb = ''\nc = \"\"", 3),
            ("a = '''\n=,'\n'',[{\n'''\nb = 1", 2),
            ("a = \"\"\"\n=\\\"\"\",\"\"\"\nb = 1", 2),
            ("a = \"=\n=", 2),
            ("a = '''=", 1),
            ("a = \"\\", 1),
        ] {
            assert_eq!(signs(text), expected, "{text}");
        }
    }
}
