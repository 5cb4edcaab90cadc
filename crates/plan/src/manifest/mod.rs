//! LOAD: parses one `agent.json` into a typed value that knows the positions of its members.
//!
//! * [`Manifest`]: text, typed model and positions of one file
//! * [`Agent`] and its parts: the typed model
//! * [`AgentId`]: valid ids of agents
//! * [`Version`]: version numbers as registries use them
//! * [`NpmSpec`], [`PypiSpec`]: package specifications
//! * [`env_name`]: which environment variables a manifest may set
//! * [`extension`]: members of packages beyond the public format
//! * [`archive`]: the version and the format in an archive's URL
//!
//! ```
//! use acp_registry_plan::manifest::Manifest;
//!
//! let manifest = Manifest::parse(r#"{ "id": "a", "version": "1.0.0" }"#.to_owned())?;
//! assert_eq!(manifest.agent().version, "1.0.0");
//! assert_eq!(manifest.span("/version").map(|span| (span.line, span.column)), Some((1, 25)));
//! # Ok::<(), acp_registry_plan::manifest::SyntaxError>(())
//! ```

mod agent;
pub mod archive;
mod document;
pub mod env_name;
pub mod extension;
mod id;
mod package;
mod places;
mod version;

pub use agent::{Agent, BinaryTarget, Channel, Distribution, Package, PackageKind, Platform, Preview, Release};
pub use document::{Manifest, SyntaxError};
pub use id::{AgentId, InvalidId};
pub use package::{NpmSpec, Pin, PypiSpec, SpecError, normalized, pypi_version_matches};
pub use places::{Places, escape_segment};
pub use version::Version;

/// Names of operating systems.
const OS: [(&str, &[&str]); 3] = [
    ("darwin", &["darwin", "macos", "mac", "osx", "apple"]),
    ("linux", &["linux"]),
    ("windows", &["windows", "win", "win32", "win64"]),
];

/// Names of architectures.
const ARCHITECTURE: [(&str, &[&str]); 2] =
    [("aarch64", &["aarch64", "arm64"]), ("x86_64", &["x86_64", "x64", "amd64", "x86-64", "win64"])];

/// The platform that a name contains, in the terms of any tool; `None` unless it is exactly one.
#[must_use]
pub fn guess_platform(name: &str) -> Option<Platform> {
    let name = name.to_ascii_lowercase();
    let words: Vec<&str> = name.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let has = |word: &&str| {
        // `x86_64` is two words.
        if word.contains(['_', '-']) { name.contains(*word) } else { words.contains(word) }
    };
    let only = |table: &[(&'static str, &[&str])]| {
        let mut known = table.iter().filter(|(_, words)| words.iter().any(&has)).map(|(key, _)| *key);
        known.next().filter(|_| known.next().is_none())
    };
    format!("{}-{}", only(&OS)?, only(&ARCHITECTURE)?).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_platform_is_known_by_the_words_of_other_tools() {
        for (name, platform) in [
            ("linux-amd64", Some("linux-x86_64")),
            ("darwin-amd64", Some("darwin-x86_64")),
            ("macos-aarch64", Some("darwin-aarch64")),
            ("mac-x64", Some("darwin-x86_64")),
            ("osx-arm64", Some("darwin-aarch64")),
            ("win32-x64", Some("windows-x86_64")),
            ("tool_Linux_x86_64.zip", Some("linux-x86_64")),
            ("linux", None),
            ("linux-x64-arm64", None),
        ] {
            assert_eq!(guess_platform(name).map(Platform::as_str), platform, "{name}");
        }
    }
}
