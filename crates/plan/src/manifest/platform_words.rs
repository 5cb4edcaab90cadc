//! Other names of platforms, as used in archive names and by other tools.

use super::Platform;

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
