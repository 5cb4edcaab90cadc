//! Creates the folder of a new agent from its package or repository, and the files of a new registry.
//!
//! ```text
//! package, repository ─ Scaffolder ─→ Draft ─ propose ─→ NewEntry ─ place ─→ <id>/agent.json, <id>/icon.svg
//! ```
//!
//! * [`Addition`]: adds an agent, from its id to the remaining steps ([`Todo`])
//! * [`Scaffolder`]: asks npm, PyPI or GitHub, and creates a [`Draft`]
//! * [`Ways`]: finds the arguments that start the agent
//! * [`propose`]: applies the rules; optional members that break one are left out
//! * [`place`]: writes the agent's folder in one step
//! * [`lay_out`]: creates a registry without agents, with the workflows that this project uses itself
//!
//! A new agent's icon is the initial letter of its id, until there is a better one.
//!
//! Data of sources is not trusted: texts are shortened to one line without invisible characters, and only URLs with
//! https are used.

mod entry;
mod layout;
mod origin;
mod packages;
mod releases;
mod todo;
mod words;

use std::path::PathBuf;
use std::time::Duration;

use acp_registry_client::install::{Kind, Source};
use acp_registry_client::registry::Registry;
use acp_registry_host::fs::PathError;
use acp_registry_host::process::IsolationError;
use acp_registry_plan::digest::Sha256;
use acp_registry_plan::failure::{Code, Failure};
use acp_registry_plan::manifest::{Distribution, Platform};
use acp_registry_plan::text::quote;
use acp_registry_sources::SourceError;

use crate::check::CheckOptions;
use crate::verify::{Attempts, Trying, Verifier};
use entry::check_id;
pub use entry::{FILES, NewEntry, place, propose};
pub use layout::{Layout, LayoutError, LayoutTodo, lay_out, would_lay_out};
pub use origin::{Draft, GithubSpec, NewOrigin, Scaffolder};
use packages::OTHER_COMMAND;
pub use todo::{Cause, Todo};
use todo::{put_right, similar, start_todos};

/// Why an agent could not be added.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The id is invalid or reserved.
    #[error("{message}")]
    Id {
        /// What is wrong.
        message: String,
        /// How to fix it, if known.
        remedy: Option<String>,
        /// A similar valid id.
        near: Option<String>,
    },
    /// A file or folder with this name exists in the registry.
    #[error("{} is there already; nothing was changed", .0.display())]
    Exists(PathBuf),
    /// The source did not answer, or its answer was invalid.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The source's URL is unknown.
    #[error("{0}")]
    UnknownSource(String),
    /// The source does not have the package, project or repository.
    #[error("{message}")]
    NoPackage {
        /// What is missing.
        message: String,
        /// How to fix it.
        remedy: &'static str,
    },
    /// The source does not have the version or release.
    #[error("{message}")]
    NoVersion {
        /// What is missing.
        message: String,
        /// The newest version, if known.
        newest: Option<String>,
    },
    /// The source contains nothing that can be an agent.
    #[error("{message}")]
    Unfit {
        /// What is wrong.
        message: String,
        /// How to fix it, unless the message says so.
        remedy: Option<String>,
    },
    /// The digest of a downloaded file is not the one that GitHub states.
    #[error("{url} has the SHA-256 {found}, where GitHub says {known}; nothing was written")]
    DigestMismatch {
        /// URL of the file.
        url: String,
        /// SHA-256 as stated by GitHub.
        known: Sha256,
        /// SHA-256 of the downloaded file.
        found: Sha256,
    },
    /// The folder could not be written.
    #[error(transparent)]
    Path(#[from] PathError),
}

impl Error {
    /// Creates [`Error::Unfit`] without a remedy.
    fn unfit(message: impl Into<String>) -> Self {
        Self::Unfit { message: message.into(), remedy: None }
    }

    /// Creates [`Error::Unfit`] with a remedy.
    fn unfit_with(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Unfit { message: message.into(), remedy: Some(remedy.into()) }
    }
}

/// The lists of arguments to try, in this order.
const WAYS: [&[&str]; 4] = [&[], &["--acp"], &["acp"], &["--experimental-acp"]];

/// Default timeout for each list of arguments.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The source of an agent, and the lists of arguments to try.
#[derive(Debug, Clone)]
pub struct Ways {
    /// The package or the archive.
    pub source: Source,
    /// The lists of arguments.
    pub lists: Vec<Vec<String>>,
}

impl Ways {
    /// Chooses the distribution for a platform, and the lists of arguments: `named`, or else the usual ones. Returns
    /// `None` if there is no distribution for the platform.
    pub fn of(distribution: &Distribution, platform: Option<Platform>, named: Option<&[String]>) -> Option<Self> {
        let mut sources = Kind::ALL.into_iter().filter_map(|kind| kind.source(distribution, platform).ok().flatten());
        let source = sources.next()?;
        let usual = || WAYS.iter().map(|way| way.iter().map(ToString::to_string).collect()).collect();
        let lists = named.map_or_else(usual, |arguments| vec![arguments.to_vec()]);
        Some(Self { source, lists })
    }

    /// Installs the agent in a temporary directory and tries all lists of arguments, see [`Verifier::attempt`]. `id` is the
    /// agent's.
    ///
    /// # Errors
    /// Returns [`IsolationError`] if the requested isolation is not available. The agent is not started then.
    pub async fn attempt(
        &self,
        verifier: &Verifier,
        id: &str,
        trying: &(dyn Fn(Trying) + Send + Sync),
    ) -> Result<Attempts, IsolationError> {
        verifier.get_ready().await?;
        Ok(verifier.attempt(&self.source, &self.lists, id, trying).await)
    }
}

impl Attempts {
    /// The result if there is no distribution for this machine.
    pub fn impossible() -> Self {
        let not_started = Some(("unsupported_platform", "there is nothing for this machine".to_owned()));
        Self { not_started, ..Self::default() }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match &error {
            Error::DigestMismatch { .. } => Self::refused(error),
            Error::Source(_) => Self::unable(error),
            Error::UnknownSource(_) => {
                Self::unable(error).help("install the package manager, or correct the address in its configuration")
            }
            Error::NoPackage { remedy, .. } => {
                let remedy = *remedy;
                Self::unable(error).code(Code::PackageNotFound).help(remedy)
            }
            Error::NoVersion { newest, .. } => {
                let newest = newest.clone();
                let help = newest.as_ref().map_or_else(
                    || "leave the version out to take the newest".to_owned(),
                    |newest| format!("the newest version is {}", quote(newest)),
                );
                Self::usage(error).code(Code::UnknownVersion).help(help).suggest(newest.as_deref())
            }
            Error::Unfit { remedy, .. } => {
                let remedy = remedy.clone();
                Self::usage(error).help_if(remedy)
            }
            Error::Id { remedy, near, .. } => {
                let (remedy, near) = (remedy.clone(), near.clone());
                let failure = Self::usage(error).help_if(remedy);
                let Some(near) = near else { return failure };
                failure.help(format!("did you mean {}?", quote(&near))).suggest([&*near])
            }
            Error::Path(path) => {
                let remedy = path.remedy().unwrap_or("make the registry writable, or name another with --registry-dir");
                Self::unable(error).help(remedy)
            }
            Error::Exists(_) => Self::usage(error).help("edit what is there, or choose another id"),
        }
    }
}

/// An agent to add to a registry.
#[derive(Debug)]
pub struct Addition<'a> {
    id: &'a str,
    registry: Registry,
    options: CheckOptions<'a>,
}

/// An agent that was added, or would be.
#[derive(Debug)]
pub struct Added {
    /// The agent, with the arguments that start it.
    pub draft: Draft,
    /// The results of starting it, if it was started.
    pub attempts: Option<Attempts>,
    /// Its files.
    pub proposal: NewEntry,
    /// The remaining steps.
    pub left: Vec<Todo>,
}

impl<'a> Addition<'a> {
    /// Checks that an agent with this id can be added.
    ///
    /// # Errors
    /// Returns [`Error::Id`] for an invalid id, with a similar valid one, and [`Error::Exists`] if its folder exists.
    pub fn begin(id: &'a str, mut registry: Registry, options: CheckOptions<'a>) -> Result<Self, Error> {
        check_id(id, &mut registry, &options).map_err(|mut error| {
            let like = agent_id(id);
            if let Error::Id { near, .. } = &mut error
                && *like != *id
                && check_id(&like, &mut registry, &options).is_ok()
            {
                *near = Some(like);
            }
            error
        })?;
        Ok(Self { id, registry, options })
    }

    /// Creates the agent's files, and writes them into the registry if `is_written` is set. The agent gets the
    /// arguments in `named`, or else those of the best attempt.
    ///
    /// # Errors
    /// Returns the errors of [`place`], and [`Error::Unfit`] for a Python package in which uvx finds nothing to start.
    pub fn end(
        mut self,
        mut draft: Draft,
        named: Option<Vec<String>>,
        attempts: Option<Attempts>,
        is_written: bool,
    ) -> Result<Added, Error> {
        if let Some((_, message)) = attempts.as_ref().and_then(Attempts::problem_of_package)
            && draft.agent.distribution.uvx.is_some()
        {
            return Err(Error::unfit_with(message, OTHER_COMMAND));
        }
        let is_withdrawn = self.options.config.withdrawn.contains_key(self.id);
        let mut left = similar(&self.registry, &draft.agent);
        left.extend(is_withdrawn.then(|| Todo::Withdrawn(self.id.to_owned())));
        let has_arguments = named.is_some();
        let found = || attempts.as_ref().and_then(Attempts::best).map(|attempt| attempt.arguments.clone());
        set_arguments(&mut draft.agent.distribution, &named.or_else(found).unwrap_or_default());
        left.extend(draft.notes.drain(..).map(Todo::Note));
        left.extend(start_todos(has_arguments, attempts.as_ref()));
        let proposal = propose(&draft, &mut self.registry, &self.options);
        if is_written {
            place(&self.registry.root, self.id, &proposal)?;
        }
        left.extend(proposal.left_out.iter().cloned().map(Todo::Note));
        let errors = put_right(&proposal.errors, &left);
        left.extend(errors);
        Ok(Added { draft, attempts, proposal, left })
    }
}

/// Derives a valid id from a text.
fn agent_id(text: &str) -> String {
    let lower = text.trim().to_ascii_lowercase();
    let plain: String = lower.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    plain.trim_start_matches(|c: char| !c.is_ascii_lowercase()).trim_end_matches('-').to_owned()
}

fn set_arguments(distribution: &mut Distribution, arguments: &[String]) {
    for package in distribution.npx.iter_mut().chain(&mut distribution.uvx) {
        package.args = arguments.to_vec();
    }
    for target in &mut distribution.binary {
        target.args = arguments.to_vec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_good_id_is_made_of_what_was_meant() {
        for (text, id) in [("My Agent", "my-agent"), (" 1st.agent ", "st-agent"), ("fine", "fine"), ("__", "")] {
            assert_eq!(agent_id(text), id, "{text}");
        }
    }
}
