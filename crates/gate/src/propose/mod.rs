//! Proposes updates as pull requests on GitHub, one branch and one pull request per agent and channel.
//!
//! Compares the existing branches and pull requests with the wanted ones and applies only the difference, so that an
//! interrupted run is completed by the next one. A branch is not changed if its newest commit was made by a person.
//!
//! * [`Target`]: the repository and branch for pull requests
//! * [`Proposer`]: opens, updates and closes pull requests
//! * [`Proposal`]: the result for one branch

mod pulls;
mod target;

use acp_registry_host::git::{self, Branch, Identity, Remote};
use acp_registry_http::Client;
use acp_registry_plan::manifest::Channel;
use acp_registry_plan::text::{cell, code_span, printable, prose};
use acp_registry_sources::github::Github;

use crate::bump::VersionUpdate;
use crate::closures::ClosureChange;
use pulls::{Pull, Pulls};

pub use pulls::Slug;
pub use target::{Notes, Target, TargetError};

/// Prefix of all branches that this program creates.
const PREFIX: &str = "bump/";

/// Opens, updates and closes pull requests.
pub struct Proposer<'a> {
    /// The HTTP client, with a GitHub token.
    pub client: &'a Client,
    /// The GitHub API.
    pub github: &'a Github,
    /// The repository of the pull requests.
    pub slug: Slug,
    /// The git remote of that repository, in the clone that contains the registry directory.
    pub remote: Remote,
    /// The branch to merge into; it is checked out.
    pub base: String,
    /// The author of commits.
    pub identity: Identity,
    /// The label of straightforward updates, for automatic merging.
    pub label: Option<String>,
}

/// An update to propose.
#[derive(Debug)]
pub struct ProposedUpdate<'a> {
    /// Name of the agent's folder.
    pub id: &'a str,
    /// The update.
    pub update: &'a VersionUpdate,
    /// The current text of the manifest.
    pub original: &'a str,
    /// The updated text of the manifest.
    pub manifest: String,
    /// The closures of the new version, if the registry keeps them.
    pub closures: Vec<&'a ClosureChange>,
    /// Further information for the reviewer, as Markdown without untrusted text: the result of a handshake.
    pub notes: String,
}

/// The result for one branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// Name of the agent's folder.
    pub id: String,
    /// The channel.
    pub channel: Channel,
    /// What was done, or why it failed.
    pub result: Result<BranchChange, String>,
    /// URL of the pull request, if there is one.
    pub address: Option<String>,
}

/// What was done for one branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchChange {
    /// A pull request was opened.
    Opened,
    /// The pull request, or its branch, was updated.
    Updated,
    /// No change was needed.
    Unchanged,
    /// A person has committed to the branch, so it was not changed.
    LeftAlone,
    /// A person has closed the pull request for this version, so it is not opened again.
    Declined,
    /// There is no update any more: the pull request was closed and its branch deleted.
    Closed,
}

impl BranchChange {
    /// The name used in reports.
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
    /// A git command failed.
    #[error(transparent)]
    Git(#[from] git::Error),
    /// A GitHub request failed.
    #[error(transparent)]
    Github(#[from] acp_registry_sources::SourceError),
    /// The repository does not exist, or the token has no access to it.
    #[error("GitHub has no repository {0}, or does not show it to this token")]
    NoRepository(Slug),
}

impl Error {
    /// How to fix it, if known and independent of the caller's command line.
    pub fn remedy(&self, github: &Github) -> Option<String> {
        match self {
            Self::Git(error) => error.remedy(),
            Self::Github(error) => error.remedy(github),
            Self::NoRepository(_) => None,
        }
    }
}

impl Proposer<'_> {
    /// Opens or updates a pull request for each update in `wanted`, and closes those of `settled` agents, which have no
    /// update. An agent whose sources failed belongs in neither list, and keeps its pull request.
    ///
    /// # Errors
    /// Returns [`Error`] if branches or pull requests cannot be listed. Errors of single agents are in their
    /// [`Proposal`].
    pub async fn propose(
        &self,
        wanted: &[ProposedUpdate<'_>],
        settled: &[(String, Channel)],
    ) -> Result<Vec<Proposal>, Error> {
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
        wanted: &ProposedUpdate<'_>,
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
        wanted: &ProposedUpdate<'_>,
        branch: Option<&Branch>,
        pull: Option<&Pull>,
        address: &mut Option<String>,
    ) -> Result<BranchChange, String> {
        let why = |error: git::Error| error.to_string();
        if let Some(branch) = branch
            && !self.remote.is_own(branch, &self.identity).map_err(why)?
        {
            return Ok(BranchChange::LeftAlone);
        }
        let name = branch_name(wanted.id, wanted.update.channel);
        let path = format!("{}/agent.json", wanted.id);
        let title = title(wanted);
        if self.remote.file_at(head, &path).as_deref() != Some(wanted.original.as_bytes()) {
            // Uncommitted changes must not be published.
            return Err(format!("{path} differs from the checked-out commit; commit or restore it first"));
        }
        if pull.is_none() && pulls.is_declined(&name, &title).await.map_err(|error| error.to_string())? {
            return Ok(BranchChange::Declined);
        }
        // Compares the contents of the branch rather than its base, since the main branch may change often.
        let mut files = vec![(path.as_str(), wanted.manifest.as_bytes())];
        let closures = wanted.closures.iter().filter_map(|one| Some((one.file.as_str(), one.done.as_ref().ok()?)));
        files.extend(closures.map(|(file, made)| (file, made.text.as_bytes())));
        let holds = branch.is_some_and(|branch| {
            files.iter().all(|(path, text)| self.remote.file_at(&branch.tip, path).as_deref() == Some(*text))
        });
        if !holds {
            let message = commit(wanted);
            let commit = self.remote.commit(head, &files, &message, &self.identity);
            let commit = commit.map_err(why)?;
            self.remote.push(&name, &commit, branch.map(|branch| branch.tip.as_str())).map_err(why)?;
        }
        let body = body(wanted);
        let (number, done) = match pull {
            None => {
                let opened = pulls.create(&name, &self.base, &title, &body).await?;
                *address = Some(opened.address);
                (opened.number, BranchChange::Opened)
            }
            Some(pull) if holds && pull.title == title && pull.body == body => (pull.number, BranchChange::Unchanged),
            Some(pull) => {
                pulls.update(pull.number, &title, &body).await.map_err(|error| error.to_string())?;
                (pull.number, BranchChange::Updated)
            }
        };
        if let Some(label) = &self.label {
            let has = pull.is_some_and(|pull| pull.labels.contains(label));
            // A label set for an earlier version must not stay on a change that needs a review.
            if wanted.update.is_straightforward() != has {
                let mut labels: Vec<String> = pull.map(|pull| pull.labels.clone()).unwrap_or_default();
                labels.retain(|one| one != label);
                labels.extend(wanted.update.is_straightforward().then(|| label.clone()));
                pulls.set_labels(number, &labels).await.map_err(|error| error.to_string())?;
            }
        }
        Ok(done)
    }

    async fn close(
        &self,
        pulls: &Pulls<'_>,
        branch: Option<&Branch>,
        pull: Option<&Pull>,
    ) -> Result<BranchChange, String> {
        if let Some(branch) = branch {
            if !self.remote.is_own(branch, &self.identity).map_err(|error| error.to_string())? {
                return Ok(BranchChange::LeftAlone);
            }
            if let Some(pull) = pull {
                pulls.close(pull).await.map_err(|error| error.to_string())?;
            }
            self.remote.delete(branch).map_err(|error| error.to_string())?;
        } else if let Some(pull) = pull {
            pulls.close(pull).await.map_err(|error| error.to_string())?;
        }
        Ok(BranchChange::Closed)
    }
}

/// The name of the branch for an agent and channel.
fn branch_name(id: &str, channel: Channel) -> String {
    match channel {
        Channel::Stable => format!("{PREFIX}{id}"),
        // Ids contain no dots, so this cannot be another agent's branch.
        Channel::Preview => format!("{PREFIX}{id}.preview"),
    }
}

/// Maximum length of a value, in bytes, since GitHub rejects texts longer than 65,536 characters.
const VALUE: usize = 500;

fn title(wanted: &ProposedUpdate<'_>) -> String {
    let channel = if wanted.update.channel == Channel::Preview { " (preview)" } else { "" };
    format!("Update {}{channel} to {}", printable(wanted.id), printable(&wanted.update.to))
}

fn commit(wanted: &ProposedUpdate<'_>) -> String {
    format!("{}\n\nFrom {}.\n", title(wanted), printable(&wanted.update.from))
}

/// The description of a pull request. It depends only on the update, so that it can be compared with the existing one.
fn body(wanted: &ProposedUpdate<'_>) -> String {
    let update = wanted.update;
    let sources: Vec<&str> = update.sources.iter().map(|source| source.as_str()).collect();
    let mut out = format!(
        "**{}** from {} to **{}**, offered by {}.\n\n",
        shown(wanted.id),
        shown(&update.from),
        shown(&update.to),
        sources.join(", ")
    );
    out.push_str("| in `agent.json` | old | new |\n|---|---|---|\n");
    for change in &update.changes {
        let value =
            |value: &Option<String>| value.as_deref().map_or_else(|| "–".to_owned(), |value| cell(&shown(value)));
        out.push_str(&format!(
            "| {} | {} | {} |\n",
            cell(&shown(&change.pointer)),
            value(&change.from),
            value(&change.to)
        ));
    }
    if update.is_straightforward() {
        out.push_str(
            "\nThe change is straightforward: only version, package, addresses in the same place and digests differ.\n",
        );
    } else {
        out.push_str("\nNeeds a review:\n\n");
        for reason in &update.reasons {
            out.push_str(&format!("- {}\n", prose(cut(&printable(reason)))));
        }
    }
    for change in &wanted.closures {
        let (file, text) = match &change.done {
            Ok(made) => (shown(&change.file), made.diff.to_string()),
            Err(error) => (shown(&change.file), format!("it is of the version before, for it was not made: {error}")),
        };
        out.push_str(&format!("\n{file}: {}\n", prose(cut(&printable(&text)))));
    }
    let words = ["Release notes", "All changes"];
    for (word, link) in words.iter().zip(&update.links) {
        // This program builds the URL from encoded parts.
        out.push_str(&format!("\n[{word}](<{}>)\n", link.replace(['<', '>', '\\'], "")));
    }
    if !wanted.notes.is_empty() {
        out.push_str(&format!("\n{}\n", wanted.notes.trim_end()));
    }
    out
}

fn shown(text: &str) -> String {
    let text = printable(text);
    let end = cut(&text);
    let more = if end.len() < text.len() { "…" } else { "" };
    code_span(&format!("{end}{more}"))
}

/// The first [`VALUE`] bytes of a text.
fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(VALUE)]
}
