//! Another machine, as a person names it.

use std::ffi::OsString;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::script;

/// The longest name of a host or distribution, in bytes.
const LIMIT: usize = 255;

/// How long `ssh` waits for a machine if its configuration does not say.
pub(super) const REACH: Duration = Duration::from_secs(30);

/// A machine that this program can be started on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Machine {
    /// A host that `ssh` reaches: `HOST`, `USER@HOST`, `ssh://USER@HOST:PORT`, or a name in the configuration of `ssh`.
    Ssh(String),
    /// A distribution of Linux in Windows.
    Wsl(String),
}

/// The text names no machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is not the name of a machine")]
pub struct WrongMachine;

impl FromStr for Machine {
    type Err = WrongMachine;

    /// Accepts what no program can take for a flag, and no shell for more than a word.
    fn from_str(text: &str) -> Result<Self, WrongMachine> {
        let (way, name) = text.split_once(':').ok_or(WrongMachine)?;
        let more = if way == "ssh" { "._-@:/[]%+" } else { "._-" };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || more.contains(c);
        // `ssh` reads a user that begins with a hyphen as part of the destination, and the other side might not.
        let is_flag = name.split(['@', '/']).any(|part| part.starts_with('-'));
        if name.is_empty() || name.len() > LIMIT || is_flag || !name.chars().all(is_plain) {
            return Err(WrongMachine);
        }
        match way {
            "ssh" => Ok(Self::Ssh(name.to_owned())),
            "wsl" => Ok(Self::Wsl(name.to_owned())),
            _ => Err(WrongMachine),
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ssh(host) => write!(f, "ssh:{host}"),
            Self::Wsl(distribution) => write!(f, "wsl:{distribution}"),
        }
    }
}

impl Machine {
    /// The program that reaches it.
    pub(super) fn program(&self) -> &'static str {
        match self {
            Self::Ssh(_) => "ssh",
            Self::Wsl(_) => "wsl.exe",
        }
    }

    /// The arguments with which that program prints how it would reach the machine; `None` if it has no configuration.
    pub(super) fn inquiry(&self) -> Option<[&str; 3]> {
        let Self::Ssh(host) = self else { return None };
        Some(["-G", "--", host])
    }

    /// The arguments with which that program runs the script there. `has_limit` is whether its configuration says how long
    /// it waits for the machine.
    pub(super) fn arguments(&self, has_limit: bool) -> Vec<OsString> {
        let script = script::text();
        let limit = format!("ConnectTimeout={}", REACH.as_secs());
        let limit: &[&str] = if has_limit { &[] } else { &["-o", &limit] };
        let words = match self {
            // A question could not be answered: stdin is the client's.
            Self::Ssh(host) => [&["-T", "-o", "BatchMode=yes"], limit, &["--", host]].concat(),
            Self::Wsl(distribution) => vec!["--distribution", distribution, "--exec", "sh", "-c"],
        };
        let command = match self {
            // The script has no single quote, so that every shell of a person reads it as one word.
            Self::Ssh(_) => format!("sh -c '{script}'"),
            Self::Wsl(_) => script,
        };
        words.into_iter().map(OsString::from).chain([command.into()]).collect()
    }

    /// A command that shows whether it can be reached.
    pub(super) fn trial(&self) -> String {
        match self {
            Self::Ssh(host) => format!("ssh {host} true"),
            Self::Wsl(distribution) => format!("wsl.exe --distribution {distribution} --exec true"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_one_plain_word_and_no_flag() {
        for text in ["ssh:host", "ssh:me@host.example", "ssh:ssh://me@[::1]:22", "wsl:Ubuntu-24.04"] {
            assert_eq!(text.parse::<Machine>().map(|machine| machine.to_string()), Ok(text.to_owned()));
        }
        let long = format!("ssh:{}", "a".repeat(256));
        for text in [
            "", "host", "ssh:", "wsl:", "ssh", "SSH:host", "docker:x", "ssh:-oProxyCommand=x", "ssh:me@-x", "ssh:a b",
            "ssh://-x", "ssh:$(id)", "ssh:a;b", "ssh:a\nb", "ssh:a'b", "ssh:h\u{f6}st", "wsl:-x", "wsl:a@b", "wsl:a/b",
            &long,
        ] {
            assert_eq!(text.parse::<Machine>(), Err(WrongMachine), "{text}");
        }
    }

    #[test]
    fn a_host_comes_behind_the_flags_and_the_script_is_one_argument() {
        let words = Machine::Ssh("host".to_owned()).arguments(true);
        assert_eq!(words[..5], ["-T", "-o", "BatchMode=yes", "--", "host"]);
        assert!(words.len() == 6 && words[5].to_str().unwrap().starts_with("sh -c 'set -f; "));
        let words = Machine::Ssh("host".to_owned()).arguments(false);
        assert_eq!(words[3..7], ["-o", "ConnectTimeout=30", "--", "host"]);
        let words = Machine::Wsl("Debian".to_owned()).arguments(false);
        assert_eq!(words[..5], ["--distribution", "Debian", "--exec", "sh", "-c"]);
        assert!(words.len() == 6 && words[5].to_str().unwrap().starts_with("set -f; "));
    }
}
