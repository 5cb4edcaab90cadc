//! PROPOSE: updates of agents as pull requests on GitHub, one branch and one request for each.
//!
//! What is there is compared with what should be, and only the difference is done: a run that was interrupted is completed by
//! the next one, and nothing is done twice. A branch whose newest commit is a person's is left alone.
//!
//! * [`Target`]: where requests are opened
//! * [`Proposer`]: what it takes
//! * [`Proposal`]: what became of one branch

mod pulls;
mod target;
mod text;

use crate::bump::Update;
use acp_registry_core::manifest::Channel;
use acp_registry_core::net::Client;
use acp_registry_core::sys::git::{self, Branch, Identity, Remote};
use acp_registry_core::upstream::github::Github;

pub use pulls::Slug;
use pulls::{Pull, Pulls};
pub use target::{Notes, Target, TargetError};

/// What every branch of this program begins with.
const PREFIX: &str = "bump/";

/// Opens and keeps up pull requests.
pub struct Proposer<'a> {
    /// The client, with the secret of GitHub.
    pub client: &'a Client,
    /// GitHub.
    pub github: &'a Github,
    /// The repository that gets the requests.
    pub slug: Slug,
    /// The git remote that it is; in its repository lies the registry directory.
    pub remote: Remote,
    /// The branch that requests are to be merged into; it is checked out.
    pub base: String,
    /// Who commits.
    pub identity: Identity,
    /// The label of straightforward updates, by which they may be merged without a person.
    pub label: Option<String>,
}

/// An update that is to be proposed.
#[derive(Debug)]
pub struct Wanted<'a> {
    /// The agent's folder.
    pub id: &'a str,
    /// The update.
    pub update: &'a Update,
    /// The manifest as it was read.
    pub original: &'a str,
    /// The manifest with the update in it.
    pub manifest: String,
    /// What else a person should know, as Markdown that holds no text of strangers: the result of a handshake.
    pub notes: String,
}

/// What became of one branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// The agent's folder.
    pub id: String,
    /// The channel.
    pub channel: Channel,
    /// What was done.
    pub result: Result<Done, String>,
    /// Address of the request, if there is one.
    pub address: Option<String>,
}

/// What was done about one branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// A request was opened.
    Opened,
    /// The request, or its branch, was brought up to date.
    Updated,
    /// All was as it should be.
    Unchanged,
    /// A person has worked on the branch, which stays as it is.
    LeftAlone,
    /// A person has closed the request for this version, which is not opened again.
    Declined,
    /// There is nothing left to propose: the request was closed and its branch removed.
    Closed,
}

impl Done {
    /// The word in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Opened => "opened",
            Self::Updated => "updated",
            Self::Unchanged => "unchanged",
            Self::LeftAlone => "left_alone",
            Self::Declined => "declined",
            Self::Closed => "closed",
        }
    }
}

/// Why nothing could be proposed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Git failed.
    #[error(transparent)]
    Git(#[from] git::Error),
    /// GitHub failed.
    #[error(transparent)]
    Github(#[from] acp_registry_core::upstream::SourceError),
    /// The repository is not there for this token.
    #[error("GitHub has no repository {0}, or does not show it to this token")]
    NoRepository(Slug),
}

impl Error {
    /// What helps, where that is known and not a matter of how the caller was asked.
    #[must_use]
    pub fn remedy(&self, github: &Github) -> Option<String> {
        match self {
            Self::Git(error) => error.remedy(),
            Self::Github(error) => error.remedy(github),
            Self::NoRepository(_) => None,
        }
    }
}

impl Proposer<'_> {
    /// Opens or updates a request for each update, and closes those of agents in `settled`, for which nothing is left to
    /// propose. An agent whose sources failed is in neither list, and keeps its request.
    ///
    /// # Errors
    /// [`Error`] when neither branches nor requests can be listed; what fails for one agent is in its [`Proposal`].
    pub async fn propose(&self, wanted: &[Wanted<'_>], settled: &[(String, Channel)]) -> Result<Vec<Proposal>, Error> {
        let pulls = Pulls { client: self.client, github: self.github, slug: &self.slug };
        let head = self.remote.head()?;
        let branches = self.remote.branches(PREFIX)?;
        let open = pulls.open(PREFIX).await?.ok_or_else(|| Error::NoRepository(self.slug.clone()))?;
        let there = |name: &str| {
            let branch = branches.iter().find(|branch| branch.name == name);
            (branch, open.iter().find(|pull| pull.branch == name))
        };
        let mut proposals = Vec::new();
        for wanted in wanted {
            let (branch, pull) = there(&branch_name(wanted.id, wanted.update.channel));
            let proposal = self.one(&pulls, &head, wanted, branch, pull).await;
            proposals.push(proposal);
        }
        for (id, channel) in settled {
            let (branch, pull) = there(&branch_name(id, *channel));
            if branch.is_some() || pull.is_some() {
                let result = self.close(&pulls, branch, pull).await;
                let address = pull.map(|pull| pull.address.clone());
                proposals.push(Proposal { id: id.clone(), channel: *channel, result, address });
            }
        }
        Ok(proposals)
    }

    async fn one(
        &self,
        pulls: &Pulls<'_>,
        head: &str,
        wanted: &Wanted<'_>,
        branch: Option<&Branch>,
        pull: Option<&Pull>,
    ) -> Proposal {
        let mut address = pull.map(|pull| pull.address.clone());
        let result = self.one_or_why(pulls, head, wanted, branch, pull, &mut address).await;
        Proposal { id: wanted.id.to_owned(), channel: wanted.update.channel, result, address }
    }

    async fn one_or_why(
        &self,
        pulls: &Pulls<'_>,
        head: &str,
        wanted: &Wanted<'_>,
        branch: Option<&Branch>,
        pull: Option<&Pull>,
        address: &mut Option<String>,
    ) -> Result<Done, String> {
        let why = |error: git::Error| error.to_string();
        if let Some(branch) = branch
            && !self.remote.is_own(branch, &self.identity).map_err(why)?
        {
            return Ok(Done::LeftAlone);
        }
        let name = branch_name(wanted.id, wanted.update.channel);
        let path = format!("{}/agent.json", wanted.id);
        let title = text::title(wanted);
        if self.remote.file_at(head, &path).as_deref() != Some(wanted.original.as_bytes()) {
            // Uncommitted changes must not be published.
            return Err(format!("{path} differs from the commit that is checked out; commit or restore it first"));
        }
        if pull.is_none() && pulls.is_declined(&name, &title).await.map_err(|error| error.to_string())? {
            return Ok(Done::Declined);
        }
        // What a branch holds counts, not when it began: main moves on every hour.
        let holds = branch.is_some_and(|branch| {
            self.remote.file_at(&branch.tip, &path).as_deref() == Some(wanted.manifest.as_bytes())
        });
        if !holds {
            let message = text::commit(wanted);
            let commit = self.remote.commit(head, &path, wanted.manifest.as_bytes(), &message, &self.identity);
            let commit = commit.map_err(why)?;
            self.remote.push(&name, &commit, branch.map(|branch| branch.tip.as_str())).map_err(why)?;
        }
        let body = text::body(wanted);
        let (number, done) = match pull {
            None => {
                let opened = pulls.create(&name, &self.base, &title, &body).await?;
                *address = Some(opened.address);
                (opened.number, Done::Opened)
            }
            Some(pull) if holds && pull.title == title && pull.body == body => (pull.number, Done::Unchanged),
            Some(pull) => {
                pulls.update(pull.number, &title, &body).await.map_err(|error| error.to_string())?;
                (pull.number, Done::Updated)
            }
        };
        if let Some(label) = &self.label {
            let has = pull.is_some_and(|pull| pull.labels.contains(label));
            // One that was put there for an earlier version must not stay on a change that a person should look at.
            if wanted.update.is_straightforward() != has {
                let mut labels: Vec<String> = pull.map(|pull| pull.labels.clone()).unwrap_or_default();
                labels.retain(|one| one != label);
                labels.extend(wanted.update.is_straightforward().then(|| label.clone()));
                pulls.set_labels(number, &labels).await.map_err(|error| error.to_string())?;
            }
        }
        Ok(done)
    }

    async fn close(&self, pulls: &Pulls<'_>, branch: Option<&Branch>, pull: Option<&Pull>) -> Result<Done, String> {
        if let Some(branch) = branch {
            if !self.remote.is_own(branch, &self.identity).map_err(|error| error.to_string())? {
                return Ok(Done::LeftAlone);
            }
            if let Some(pull) = pull {
                pulls.close(pull).await.map_err(|error| error.to_string())?;
            }
            self.remote.delete(branch).map_err(|error| error.to_string())?;
        } else if let Some(pull) = pull {
            pulls.close(pull).await.map_err(|error| error.to_string())?;
        }
        Ok(Done::Closed)
    }
}

/// The branch of a channel of an agent.
fn branch_name(id: &str, channel: Channel) -> String {
    match channel {
        Channel::Stable => format!("{PREFIX}{id}"),
        // No id has a dot in it.
        Channel::Preview => format!("{PREFIX}{id}.preview"),
    }
}
