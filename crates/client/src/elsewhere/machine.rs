//! Another machine, as a person names it, and the script that finds this program there, or receives a copy of it.

use std::ffi::OsString;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use acp_registry_plan::manifest::Platform;

use super::ELSEWHERE;

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
        let script = script();
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

/// The version that both sides must have.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How lines of the script begin. Profiles of shells may print others.
const MARK: &str = "acp-registry-elsewhere";

/// What the script reports.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Report {
    /// The program is there, and has begun.
    Found { system: String, program: String },
    /// It is not there. The script waits for the size and the digest of a copy.
    Absent { system: String },
    /// The script waits for the bytes.
    Ready,
    /// What has come is not what was announced.
    Broken,
    /// The copy does not start there.
    Unfit,
}

/// The script. Since `IFS` is empty and names are not expanded, words need no quotes. It has nothing that a shell reads inside
/// single quotes: no quote, backslash, exclamation mark or line end.
fn script() -> String {
    let find = "cd; m=MARK; u=$(uname -sm); d=${XDG_DATA_HOME:-$HOME/.local/share}/acp-registry/bin; o=$d/acp-registry-VERSION; \
        try() { case $($1 --version 2>/dev/null </dev/null) in acp-registry?VERSION) echo; echo $m found $u: $1; exec $1 WORD;; esac; }; \
        p=$(command -v acp-registry) && try $p; try $o";
    // `head` may read more than it is asked for, so that nothing else is sent until the copy has begun.
    let copy = "echo; echo $m absent $u:; read n && read s || exit 1; t=$o.$$; \
        (umask 077; mkdir -p $d && echo $m ready && head -c $n | gzip -dc >$t); \
        case $({ sha256sum || shasum -a 256; } 2>/dev/null <$t) in $s*) chmod 755 $t; mv -f $t $o;; \
        *) rm -f $t; echo $m broken; exit 1;; esac; try $o; $o --version >/dev/null; echo $m unfit; exit 1";
    format!("set -f; IFS=; {find}; {copy}").replace("MARK", MARK).replace("VERSION", VERSION).replace("WORD", ELSEWHERE)
}

impl FromStr for Report {
    type Err = ();

    fn from_str(line: &str) -> Result<Self, ()> {
        let rest = line.strip_prefix(MARK).and_then(|rest| rest.strip_prefix(' ')).ok_or(())?;
        let (word, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let (system, program) = rest.split_once(':').unwrap_or_default();
        let (system, program) = (system.to_owned(), program.trim_start().to_owned());
        match word {
            "found" => Ok(Self::Found { system, program }),
            "absent" => Ok(Self::Absent { system }),
            "ready" => Ok(Self::Ready),
            "broken" => Ok(Self::Broken),
            "unfit" => Ok(Self::Unfit),
            _ => Err(()),
        }
    }
}

/// The platform that `uname -sm` names.
pub(super) fn platform(system: &str) -> Option<Platform> {
    let (os, processor) = system.split_once(' ')?;
    let processor = match processor {
        "amd64" => "x86_64",
        "arm64" => "aarch64",
        other => other,
    };
    format!("{}-{processor}", os.to_ascii_lowercase()).parse().ok()
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

    #[test]
    fn the_script_is_one_word_in_single_quotes() {
        let text = script();
        assert!(text.is_ascii() && !text.contains(['\'', '"', '\\', '!', '\n', '`']), "{text}");
        assert!(text.contains(&format!("acp-registry?{VERSION}) ")) && !text.contains("VERSION"), "{text}");
    }

    #[test]
    fn reports_are_told_from_other_lines() {
        let found = Report::Found { system: "Linux x86_64".to_owned(), program: "/a b/acp-registry".to_owned() };
        assert_eq!("acp-registry-elsewhere found Linux x86_64: /a b/acp-registry".parse(), Ok(found));
        let absent = Report::Absent { system: "Darwin arm64".to_owned() };
        assert_eq!("acp-registry-elsewhere absent Darwin arm64:".parse(), Ok(absent));
        assert_eq!("acp-registry-elsewhere broken".parse(), Ok(Report::Broken));
        for line in
            ["", "Welcome", "acp-registry-elsewhere", "acp-registry-elsewhere gone", "x acp-registry-elsewhere ready"]
        {
            assert_eq!(line.parse::<Report>(), Err(()), "{line}");
        }
    }

    #[test]
    fn systems_are_platforms_by_their_usual_names() {
        assert_eq!(platform("Linux x86_64"), Some(Platform::LinuxX8664));
        assert_eq!(platform("Darwin arm64"), Some(Platform::DarwinAarch64));
        assert_eq!([platform("FreeBSD amd64"), platform("Linux"), platform("Linux riscv64")], [None; 3]);
    }
}
