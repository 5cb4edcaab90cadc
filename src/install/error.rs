use std::time::Duration;

use super::{Shortfall, Verified, remedy};
use crate::archive::{self, CmdNotFound, Mismatch, Misnamed};
use crate::cause;
use crate::manifest::{Platform, SpecError};
use crate::net::FetchError;
use crate::sys::fs::PathError;
use crate::sys::process::{Exit, SpawnError};
use crate::text::quote;

/// Why something was not installed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The manifest names something else than a package.
    #[error("the package {} {error}", quote(package))]
    Spec {
        /// What it names.
        package: String,
        /// What is wrong.
        error: SpecError,
    },
    /// The manifest leaves it to others which version is installed.
    #[error("the package {} is not pinned to one version", quote(.0))]
    Unpinned(String),
    /// The manifest names something else than a day.
    #[error("`exclude_newer` is {}, which is not a day; write it as YYYY-MM-DD", quote(day))]
    Cutoff {
        /// What it names.
        day: String,
    },
    /// A program that is needed is not there.
    #[error("{program} is not in PATH; {remedy}")]
    MissingRuntime {
        /// Its name.
        program: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// The package does not run on the runtime that is there.
    #[error("the package {} {}; {}", quote(&.0.package), .0.shortfall, remedy::newer(.0.shortfall.runtime))]
    RuntimeTooOld(Box<TooOld>),
    /// uv would have to build a package, which runs code of that package.
    #[error(
        "the package {} cannot be installed without building {} from source, which runs code of that package; \
         `--allow-build` allows that",
        quote(package),
        built.as_deref().map_or_else(|| "a package".to_owned(), quote)
    )]
    NeedsBuild {
        /// The package that the manifest names.
        package: String,
        /// The one that has no wheel, if uv tells.
        built: Option<String>,
    },
    /// The package manager could not be started.
    #[error(transparent)]
    Start(#[from] SpawnError),
    /// The package manager failed.
    #[error("{0}")]
    Tool(Box<ToolFailure>),
    /// The package is there, but nothing in it that could be started.
    #[error("the package {} {problem}", quote(package))]
    NoCommand {
        /// The package.
        package: String,
        /// What is wrong, as the rest of a sentence.
        problem: String,
    },
    /// The archive is not offered for this platform.
    #[error("there is no archive for {}; there are some for {}", host(*platform), quote(&offered.join(", ")))]
    UnsupportedPlatform {
        /// This platform.
        platform: Option<Platform>,
        /// Those of the manifest.
        offered: Vec<String>,
    },
    /// The address of the archive is none.
    #[error("the archive's address {} is not an address: {message}", quote(url))]
    Address {
        /// What the manifest has.
        url: String,
        /// What is wrong.
        message: String,
    },
    /// The archive's name ends as those do that clients do not unpack.
    #[error("the archive {} is of a kind that clients do not unpack (`{ending}`)", quote(url))]
    Format {
        /// What the manifest has.
        url: String,
        /// The ending.
        ending: &'static str,
    },
    /// The archive is in another format than its name says.
    #[error(transparent)]
    Misnamed(#[from] Misnamed),
    /// The archive was not fetched.
    #[error("the archive was not fetched: {0}")]
    Fetch(#[from] FetchError),
    /// The archive was not fetched in time.
    #[error("the archive was not fetched within {} s", .0.as_secs_f64())]
    Slow(Duration),
    /// The archive is not the one that the manifest means.
    #[error("the archive has the SHA-256 {found}, but {} says {}", by.speaker(), quote(wanted))]
    DigestMismatch {
        /// The digest of what came.
        found: String,
        /// Who says otherwise.
        by: Verified,
        /// What that one says.
        wanted: String,
    },
    /// The archive was not unpacked.
    #[error("the archive {0}")]
    Archive(#[from] archive::Error),
    /// npm has no such version of the package.
    #[error("npm has no version {version} of {}{}", quote(name), newest.as_ref().map_or_else(String::new, |newest| format!("; newest {newest}")))]
    NoVersion {
        /// The package.
        name: String,
        /// What was asked for.
        version: String,
        /// The newest version, if npm says.
        newest: Option<String>,
        /// What npm has written.
        failure: Box<ToolFailure>,
    },
    /// The archive does not hold what is to be started.
    #[error("{0}")]
    CmdNotFound(#[from] CmdNotFound),
    /// What is to be started does not run here.
    #[error("{} {mismatch}", quote(cmd))]
    Unfit {
        /// The program.
        cmd: String,
        /// Why not.
        mismatch: Mismatch,
    },
    /// What is to be started needs a dynamic loader that is not there.
    #[error(
        "{} needs {}, which this system does not have (musl, NixOS?); another distribution may run here: --dist",
        quote(cmd),
        quote(loader)
    )]
    NoLoader {
        /// The program.
        cmd: String,
        /// The path of its loader.
        loader: String,
    },
    /// The directory could not be written to.
    #[error("cannot write {0}")]
    Path(#[from] PathError),
}

impl Error {
    /// The name of the reason in reports.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::MissingRuntime { .. } => "missing_runtime",
            Self::RuntimeTooOld(_) => "runtime_too_old",
            Self::UnsupportedPlatform { .. } => "unsupported_platform",
            Self::DigestMismatch { .. } => "digest_mismatch",
            Self::Tool(failure) if failure.is_of_integrity() => "digest_mismatch",
            Self::Tool(failure) if failure.lacks_package() => "package_not_found",
            Self::NoVersion { .. } => "package_not_found",
            Self::Archive(archive::Error::Unsafe { .. } | archive::Error::TooLarge(_)) => "unsafe_archive",
            Self::CmdNotFound(_) => "cmd_not_found",
            _ => "install_failed",
        }
    }

    /// Whether something was refused because it is not what it should be, or not safe.
    #[must_use]
    pub fn is_of_integrity(&self) -> bool {
        ["digest_mismatch", "unsafe_archive"].contains(&self.reason()) || matches!(self, Self::Unfit { .. })
    }

    /// Whether the manifest is at fault, whatever the machine.
    #[must_use]
    pub fn is_of_manifest(&self) -> bool {
        ["digest_mismatch", "unsafe_archive", "cmd_not_found", "package_not_found"].contains(&self.reason())
            || matches!(
                self,
                Self::Spec { .. }
                    | Self::Unpinned(_)
                    | Self::Cutoff { .. }
                    | Self::NoCommand { .. }
                    | Self::Unfit { .. }
                    | Self::Format { .. }
                    | Self::Misnamed(_)
            )
    }

    /// Whether the package registry could not be asked for the package of this name, or the host of an archive did not send
    /// it, so that nothing else can be had from there now. An archive that only takes longer than the time for an installation
    /// says nothing of its host.
    #[must_use]
    pub fn is_of_source(&self, package: &str) -> bool {
        match self {
            Self::Tool(failure) => failure.lacks_source(package),
            Self::Fetch(error) => error.problem.is_outage(),
            _ => false,
        }
    }

    /// What the package manager has said, as it was written: escape it before it is shown.
    #[must_use]
    pub fn stderr(&self) -> &str {
        match self {
            Self::Tool(failure) | Self::NoVersion { failure, .. } => &failure.stderr,
            Self::RuntimeTooOld(too_old) => &too_old.stderr,
            _ => "",
        }
    }
}

/// A package that does not run on the runtime that is there.
#[derive(Debug, Clone)]
pub struct TooOld {
    /// The package.
    pub package: String,
    /// Which runtime is there, and which is wanted.
    pub shortfall: Shortfall,
    /// What the package manager wrote to stderr.
    pub stderr: String,
}

/// How a package manager has failed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{program} {}", self.describe())]
pub struct ToolFailure {
    /// Its name.
    pub program: &'static str,
    /// How it has ended; `None` when its time was up.
    pub exit: Option<Exit>,
    /// How long it had.
    pub limit: Duration,
    /// The end of what it wrote to stderr; where that is nothing, to stdout.
    pub stderr: String,
}

impl ToolFailure {
    /// Whether something was not what its digest says, in the words of npm and of uv.
    fn is_of_integrity(&self) -> bool {
        self.stderr.contains("code EINTEGRITY") || self.stderr.contains("Hash mismatch for ")
    }

    /// Whether npm has answered that it has no such version of this very package, and not of one that it needs.
    pub(super) fn lacks_version(&self, name: &str, version: &str) -> bool {
        let sentence = format!(" No matching version found for {name}@{version}.");
        self.program == "npm" && self.stderr.lines().any(|line| line.starts_with("npm ") && line.ends_with(&sentence))
    }

    /// Whether the package registry has answered that it has no such package or version.
    ///
    /// Scripts of packages write below npm's own code, which comes first. An index that asks for credentials says nothing
    /// of what it has.
    fn lacks_package(&self) -> bool {
        if self.program == "npm" {
            let code = self
                .stderr
                .lines()
                .find_map(|line| line.strip_prefix("npm error code ").or_else(|| line.strip_prefix("npm ERR! code ")));
            return code.is_some_and(|code| ["E404", "ETARGET"].contains(&code.trim()));
        }
        // uv breaks long lines.
        let words: Vec<&str> = self.stderr.split_whitespace().collect();
        let text = words.join(" ");
        let is_refused = ["401 Unauthorized", "403 Forbidden"].iter().any(|status| text.contains(status));
        let is_absent =
            text.contains("Because there is no version of ") || text.contains(" was not found in the package registry");
        text.contains("No solution found when resolving") && is_absent && !is_refused
    }

    /// Whether the question for the package itself went unanswered. Addresses that a package names elsewhere, and what its
    /// scripts write, say nothing of the registry.
    fn lacks_source(&self, package: &str) -> bool {
        const CODES: [&str; 9] = [
            "ECONNREFUSED", "ECONNRESET", "ENOTFOUND", "EAI_AGAIN", "ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH", "E502",
            "E503",
        ];
        let is_asked = |line: &str, path: &str| {
            line.split_whitespace()
                .any(|word| word.trim_matches(['(', ')', '`', ':', ';']).trim_end_matches('/').ends_with(path))
        };
        if self.program == "npm" {
            let name = package.rfind('@').filter(|at| *at > 0).map_or(package, |at| &package[..at]);
            let path = format!("/{}", name.replace('/', "%2f"));
            let mut lines = self.stderr.lines().filter(|line| line.starts_with("npm "));
            let code = lines.find_map(|line| line.split_once(" code ").map(|(_, code)| code.trim()));
            return code.is_some_and(|code| CODES.contains(&code)) && lines.any(|line| is_asked(line, &path));
        }
        let name = package.split(['=', '[', '@', '<', '>', ' ']).next().unwrap_or_default();
        let path = format!("/{}", crate::upstream::pypi::normalized(name));
        let head = self.stderr.lines().find(|line| line.starts_with("error: "));
        head.is_some_and(|line| {
            (line.contains("Failed to fetch") || line.contains("Request failed")) && is_asked(line, &path)
        })
    }

    fn describe(&self) -> String {
        let mut text = match self.exit {
            Some(exit) => format!("failed ({})", exit.describe()),
            None => format!("did not end within {} s", self.limit.as_secs_f64()),
        };
        if let Some(cause) = cause::quoted(&self.stderr) {
            text.push_str(": ");
            text.push_str(&cause);
        }
        text
    }
}

fn host(platform: Option<Platform>) -> &'static str {
    platform.map_or("this system", Platform::as_str)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::sys::process::How;

    fn failure(program: &'static str, stderr: &str) -> ToolFailure {
        let exit = Some(Exit { how: How::Exited, code: Some(1), signal: None });
        ToolFailure { program, exit, limit: Duration::from_mins(5), stderr: stderr.to_owned() }
    }

    #[test]
    fn a_package_manager_is_quoted_where_it_explains_itself() {
        let script = "npm warn x\nnpm error code 1\nnpm error path /a\nnpm error command failed\n\
                      npm error command sh -c x\nnpm error node is too old\nnpm error A complete log of this: /b\n";
        let slow = ToolFailure { exit: None, ..failure("npm", script) };
        assert_eq!(slow.to_string(), "npm did not end within 300 s: `node is too old`");
        let chain = failure("uv", "Resolved\nerror: no\n  cause: y\n").to_string();
        assert_eq!(chain, "uv failed (exit code 1): `no: y`");
        assert_eq!(failure("uv", " \n").to_string(), "uv failed (exit code 1)");
    }

    #[test]
    fn a_package_that_is_not_there_is_the_fault_of_the_manifest() {
        let read = |name: &str| {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/cause").join(name);
            let text = fs::read_to_string(&path).unwrap();
            text.split_once("\n---\n").unwrap().1.to_owned()
        };
        for (program, name, is_absent) in [
            ("npm", "npm-11-etarget.txt", true),
            ("npm", "npm-8-etarget.txt", true),
            ("npm", "npm-e404.txt", true),
            ("npm", "npm-dead-dns.txt", false),
            ("npm", "npm-script.txt", false),
            ("npm", "npm-engine.txt", false),
            ("uv", "uv-no-version.txt", true),
            ("uv", "uv-no-package.txt", true),
            ("uv", "uv-0.8-no-version.txt", true),
            ("uv", "uv-requires-python.txt", false),
            ("uv", "uv-dead-dns.txt", false),
        ] {
            let error = Error::Tool(Box::new(failure(program, &read(name))));
            let reason = if is_absent { "package_not_found" } else { "install_failed" };
            assert_eq!((error.reason(), error.is_of_manifest()), (reason, is_absent), "{name}: {error}");
            let has_told = failure(program, &read(name)).lacks_version("pi-acp", "99.0.0");
            assert_eq!(has_told, name.ends_with("etarget.txt"), "{name}");
        }
        for (program, name, package, is_down) in [
            ("npm", "npm-dead-dns.txt", "pi-acp@0.0.34", true),
            ("npm", "npm-dead-proxy.txt", "pi-acp@0.0.34", true),
            ("npm", "npm-dead-dns.txt", "other@1.0.0", false),
            ("npm", "npm-e404.txt", "@agentclientprotocol/no-such-agent-xyzzy@1.0.0", false),
            ("npm", "npm-script.txt", "scripty@1.0.0", false),
            ("uv", "uv-dead-dns.txt", "minion-code==0.1.45", true),
            ("uv", "uv-0.8-refused.txt", "Minion_Code==0.1.45", true),
            ("uv", "uv-dead-proxy.txt", "other==1.0", false),
            ("uv", "uv-no-version.txt", "minion-code==99.0.0", false),
            ("uv", "uv-build.txt", "sdbad==1.0", false),
        ] {
            assert_eq!(failure(program, &read(name)).lacks_source(package), is_down, "{name} {package}");
        }
        // A script of a package cannot claim it.
        let forged = failure("npm", "npm error code 1\nnpm error command sh -c x\nnpm error code E404\n");
        assert!(!forged.lacks_package());
        let closed = "No solution found when resolving x: a was not found in the package registry\nhint: 403 Forbidden";
        assert!(!failure("uv", closed).lacks_package());
    }
}
