//! Platforms: their names in manifests, and by which words the names of files say them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A platform that binaries can be built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "&str", try_from = "String")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Platform {
    DarwinAarch64,
    DarwinX8664,
    LinuxAarch64,
    LinuxX8664,
    WindowsAarch64,
    WindowsX8664,
}

impl Platform {
    /// All platforms, sorted by name.
    pub const ALL: [Self; 6] = [
        Self::DarwinAarch64,
        Self::DarwinX8664,
        Self::LinuxAarch64,
        Self::LinuxX8664,
        Self::WindowsAarch64,
        Self::WindowsX8664,
    ];

    /// The name in manifests: `OS-ARCH`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DarwinAarch64 => "darwin-aarch64",
            Self::DarwinX8664 => "darwin-x86_64",
            Self::LinuxAarch64 => "linux-aarch64",
            Self::LinuxX8664 => "linux-x86_64",
            Self::WindowsAarch64 => "windows-aarch64",
            Self::WindowsX8664 => "windows-x86_64",
        }
    }

    /// The platform that this program was built for; `None` if manifests have no name for it.
    #[must_use]
    pub fn host() -> Option<Self> {
        let os = if cfg!(target_os = "macos") { "darwin" } else { std::env::consts::OS };
        format!("{os}-{}", std::env::consts::ARCH).parse().ok()
    }

    /// The operating system: `darwin`, `linux` or `windows`.
    #[must_use]
    pub fn os(self) -> &'static str {
        match self {
            Self::DarwinAarch64 | Self::DarwinX8664 => "darwin",
            Self::LinuxAarch64 | Self::LinuxX8664 => "linux",
            Self::WindowsAarch64 | Self::WindowsX8664 => "windows",
        }
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The text is not a known platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a platform; known are darwin, linux and windows, each with aarch64 and x86_64")]
pub struct UnknownPlatform;

impl From<Platform> for &str {
    fn from(platform: Platform) -> Self {
        platform.as_str()
    }
}

impl TryFrom<String> for Platform {
    type Error = UnknownPlatform;

    fn try_from(text: String) -> Result<Self, UnknownPlatform> {
        text.parse()
    }
}

impl FromStr for Platform {
    type Err = UnknownPlatform;

    fn from_str(text: &str) -> Result<Self, UnknownPlatform> {
        Self::ALL.into_iter().find(|platform| platform.as_str() == text).ok_or(UnknownPlatform)
    }
}

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
    fn platforms_are_known_by_their_names() {
        for platform in Platform::ALL {
            assert_eq!(platform.as_str().parse(), Ok(platform));
            assert!(platform.as_str().starts_with(platform.os()));
        }
        assert_eq!("linux-riscv64".parse::<Platform>(), Err(UnknownPlatform));
    }

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
