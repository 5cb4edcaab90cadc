//! What to do about an error, in words that fit every program.
//!
//! A remedy is text with [`Action`]s in it. Displayed, its actions have neutral words: "use a longer time limit". A
//! program that has a flag, a setting or a button for an action shows its own words instead, with [`Remedy::words`].

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

use serde::{Serialize, Serializer};

use crate::text::{printable, quote};

/// Something that programs offer in ways of their own.
///
/// The words of some actions only say how it is done, after text that says what to do. These have no neutral words.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// How to allow packages to be built from source.
    AllowBuild,
    /// Allow requests to the host of an object store.
    AllowEndpoint,
    /// Allow requests to a host that was refused, if its name is known.
    AllowHost(Option<String>),
    /// Allow npm to run the install scripts of packages, and install the agent again.
    AllowScripts {
        /// The agent.
        id: String,
        /// What forbids the scripts: a setting of npm or a variable.
        forbidden_by: String,
        /// Whether that is a variable.
        is_variable: bool,
    },
    /// Allow requests.
    AllowRequests,
    /// The fix of a finding, as a noun.
    ApplyFixes,
    /// Building a tree, as a noun.
    Build,
    /// The removal of unused versions and of files that interrupted installations have left.
    Collect,
    /// The checks of an installed agent, as a noun.
    Diagnosis,
    /// How to choose a kind of distribution.
    Distribution(Option<&'static str>),
    /// How to use another index.
    Index,
    /// Install an agent as another kind of distribution.
    InstallAs(&'static str),
    /// Install a version of an agent.
    InstallVersion {
        /// The agent.
        id: String,
        /// The version.
        version: String,
    },
    /// Install an agent from its package instead of its archive.
    InstallPackage,
    /// Use a longer time limit for installations.
    InstallTimeout {
        /// The agent, if it is known.
        id: Option<String>,
        /// The time limit that may be long enough.
        minutes: u64,
    },
    /// Keep the path of a runtime that has moved.
    KeepRuntime,
    /// How to take the versions of a lock file.
    Locked,
    /// A longer time limit for the answer to `initialize`, as a noun.
    LongerTimeout,
    /// A handshake with a command, as a noun.
    Probe,
    /// How to name the program of an agent.
    Program {
        /// Whether a name was given that no program has.
        is_wrong: bool,
    },
    /// Install the same version of an agent again.
    Reinstall(String),
    /// Repair an installed agent.
    Repair(String),
    /// The revision of a published tree, as a noun.
    Revision,
    /// How to use another directory for installed agents.
    Root {
        /// Whether a variable of the program may set it, too.
        or_variable: bool,
    },
    /// The sandbox, as a noun.
    Sandbox,
    /// How to see the command that starts an agent.
    ShowCommand,
    /// Signing in, as a noun.
    SignIn,
    /// How to give the person more time to sign in.
    SignInTimeout,
    /// The place that a tree is published to, as a noun.
    Target,
    /// How to publish to another directory.
    TargetDirectory,
    /// Trust a directory of installed agents that other users can change.
    TrustRoot,
    /// Uninstall an agent.
    Uninstall(String),
    /// Uninstalling, as a noun.
    Uninstalling,
    /// Installing and starting an agent of a registry, as a noun.
    Verify(String),
    /// How to write a lock file.
    WriteLock(PathBuf),
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AllowBuild
            | Self::Distribution(_)
            | Self::Index
            | Self::Locked
            | Self::Program { .. }
            | Self::Root { .. }
            | Self::ShowCommand
            | Self::SignInTimeout
            | Self::TargetDirectory
            | Self::WriteLock(_) => Ok(()),
            Self::AllowEndpoint => f.write_str("allow its host"),
            Self::AllowHost(None) | Self::TrustRoot => f.write_str("allow it"),
            Self::AllowHost(Some(host)) => write!(f, "allow the host {}", quote(host)),
            Self::AllowScripts { id, forbidden_by, is_variable: true } => {
                write!(f, "unset {}, then install {} again", quote(forbidden_by), quote(id))
            }
            Self::AllowScripts { id, forbidden_by, is_variable: false } => {
                let setting = quote(forbidden_by);
                let setting = setting.trim_matches('`');
                write!(f, "run `npm config set {setting} false`, then install {} again", quote(id))
            }
            Self::AllowRequests => f.write_str("allow requests once"),
            Self::ApplyFixes => f.write_str("the fix"),
            Self::Build => f.write_str("a build"),
            Self::Collect => f.write_str("the removal of unused versions"),
            Self::Diagnosis => f.write_str("what a diagnosis says"),
            Self::InstallAs(kind) => write!(f, "install it as {kind}"),
            Self::InstallVersion { id, version } => write!(f, "install {} {}", quote(id), quote(version)),
            Self::InstallPackage => f.write_str("install it as npx or uvx"),
            Self::InstallTimeout { id: None, minutes } => {
                write!(f, "install it again with a time limit of {minutes} min")
            }
            Self::InstallTimeout { id: Some(id), minutes } => {
                write!(f, "install {} with a time limit of {minutes} min", quote(id))
            }
            Self::KeepRuntime => f.write_str("a repair keeps that in its receipt"),
            Self::LongerTimeout => f.write_str("a longer time limit"),
            Self::Probe => f.write_str("a handshake"),
            Self::Reinstall(id) => write!(f, "install {} again", quote(id)),
            Self::Repair(id) => write!(f, "repair {}", quote(id)),
            Self::Revision => f.write_str("revision"),
            Self::Sandbox => f.write_str("the sandbox"),
            Self::SignIn => f.write_str("signing in"),
            Self::Target => f.write_str("the target"),
            Self::Uninstall(id) => write!(f, "uninstall {}", quote(id)),
            Self::Uninstalling => f.write_str("uninstalling it"),
            Self::Verify(id) => write!(f, "verifying {}", quote(id)),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Fragment {
    Text(Cow<'static, str>),
    Action(Action),
}

/// What to do about an error. Made from text or from an [`Action`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remedy(Vec<Fragment>);

impl Remedy {
    /// Adds text or an action.
    #[must_use]
    pub fn then(mut self, next: impl Into<Self>) -> Self {
        self.0.extend(next.into().0);
        self
    }

    /// The actions.
    #[must_use]
    pub fn actions(&self) -> impl DoubleEndedIterator<Item = &Action> {
        self.0.iter().filter_map(|part| if let Fragment::Action(action) = part { Some(action) } else { None })
    }

    /// The text, with a program's own words for each action.
    pub fn words(&self, action: impl Fn(&Action) -> String) -> String {
        let part = |part: &Fragment| match part {
            Fragment::Text(text) => text.clone(),
            Fragment::Action(known) => action(known).into(),
        };
        self.0.iter().map(part).collect()
    }

    /// Escapes control characters in the text. The words of actions have none.
    #[must_use]
    pub fn printable(mut self) -> Self {
        for part in &mut self.0 {
            if let Fragment::Text(text) = part {
                *text = printable(text).into_owned().into();
            }
        }
        self
    }
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words(Action::to_string))
    }
}

/// As text, with neutral words.
impl Serialize for Remedy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl From<&'static str> for Remedy {
    fn from(text: &'static str) -> Self {
        Self(vec![Fragment::Text(text.into())])
    }
}

impl From<String> for Remedy {
    fn from(text: String) -> Self {
        Self(vec![Fragment::Text(text.into())])
    }
}

impl From<Action> for Remedy {
    fn from(action: Action) -> Self {
        Self(vec![Fragment::Action(action)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_have_neutral_words_unless_a_program_has_its_own() {
        let remedy = Remedy::from("free space, or name another directory").then(Action::Root { or_variable: false });
        let remedy = remedy.then("; or ").then(Action::Repair("a\nb".to_owned()));
        assert_eq!(remedy.to_string(), "free space, or name another directory; or repair `a\\u{a}b`");
        assert_eq!(serde_json::to_value(&remedy).unwrap(), remedy.to_string());
        let own = |action: &Action| match action {
            Action::Root { .. } => " in the settings".to_owned(),
            _ => "press Repair".to_owned(),
        };
        assert_eq!(remedy.words(own), "free space, or name another directory in the settings; or press Repair");
        assert_eq!(remedy.actions().next_back(), Some(&Action::Repair("a\nb".to_owned())));
    }

    #[test]
    fn control_characters_of_the_text_are_escaped() {
        let remedy = Remedy::from("a\u{1b}[1m".to_owned()).then(Action::Index).printable();
        assert_eq!(remedy.to_string(), printable("a\u{1b}[1m"));
        assert_eq!(remedy.actions().count(), 1);
    }
}
