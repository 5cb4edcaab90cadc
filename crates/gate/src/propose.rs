//! Proposes updates as pull requests on GitHub, one branch and one pull request per agent and channel.
//!
//! Compares the existing branches and pull requests with the wanted ones and applies only the difference, so that an
//! interrupted run is completed by the next one. A branch is not changed if its newest commit was made by a person.
//!
//! * [`Target`]: the repository and branch for pull requests
//! * [`Proposer`]: opens, updates and closes pull requests
//! * [`Proposal`]: the result for one branch

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use acp_registry_client::registry::Registry;
use acp_registry_host::git::{self, Branch, Identity, Remote};
use acp_registry_http::{Client, Method};
use acp_registry_plan::failure::Failure;
use acp_registry_plan::json::List;
use acp_registry_plan::manifest::{BinaryTarget, Channel, Manifest, Release};
use acp_registry_plan::position::apply;
use acp_registry_plan::text::{brief_list, cell, code_span, printable, prose, quote};
use acp_registry_sources::github::Github;
use acp_registry_sources::{RepositoryName, SourceError};
use serde_json::{Value, json};
use url::Url;

use crate::bump::{BumpRequest, Bumped, ChannelOutcome, VersionUpdate, held};
use crate::closures::ClosureChange;

/// Prefix of all branches that this program creates.
const PREFIX: &str = "bump/";

/// Suffix of those for preview channels. Ids contain no dots, so it cannot be a part of another agent's branch.
const PREVIEW: &str = ".preview";

/// Opens, updates and closes pull requests.
pub struct Proposer<'a> {
    /// The HTTP client, with a GitHub token.
    pub client: &'a Client,
    /// The GitHub API.
    pub github: &'a Github,
    /// The repository of the pull requests.
    pub slug: RepositoryName,
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
struct ProposedUpdate<'a> {
    /// Name of the agent's folder.
    id: &'a str,
    /// The update.
    update: &'a mut VersionUpdate,
    /// The manifest that it was planned for.
    manifest: &'a Manifest,
    /// The directory of the registry.
    root: &'a Path,
    /// The closures of the new version, if the registry keeps them.
    closures: Vec<&'a ClosureChange>,
    /// Further information for the reviewer, as Markdown without untrusted text: the result of a handshake.
    notes: &'a str,
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
    /// The update is not offered any more, or not wanted: the pull request was closed and its branch deleted.
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
    Github(#[from] SourceError),
    /// The repository does not exist, or the token has no access to it.
    #[error("GitHub has no repository {0}, or does not show it to this token")]
    NoRepository(RepositoryName),
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
    async fn propose_one(
        &self,
        head: &str,
        wanted: &mut ProposedUpdate<'_>,
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
        let path = in_checkout(wanted.root, &format!("{}/agent.json", wanted.id));
        let title = title(wanted);
        // Uncommitted changes must not be published. The checkout may have other line endings than the commit.
        let is_same =
            |committed: &Manifest| !committed.has_duplicate_keys() && committed.value() == wanted.manifest.value();
        let Some(committed) = self.manifest_at(head, &path).filter(is_same) else {
            return Err(format!("{path} differs from the checked-out commit; commit or restore it first"));
        };
        let edits = wanted.update.edits_in(&committed).map_err(|error| error.to_string())?;
        let manifest = apply(committed.text(), &edits);
        if pull.is_none() && self.is_declined(&name, &title).await.map_err(|error| error.to_string())? {
            return Ok(BranchChange::Declined);
        }
        let reason = format!("the digests of {} have changed since it was proposed", wanted.update.to);
        let proposed = branch.and_then(|branch| self.manifest_at(&branch.tip, &path));
        // The text of the request keeps it for later runs.
        let is_known = pull.is_some_and(|pull| pull.body.contains(&to_review(&reason)));
        if is_known || proposed.is_some_and(|proposed| has_other_digests(&proposed, &manifest, wanted.update.channel)) {
            wanted.update.reasons.push(reason);
        }
        // Compares the contents of the branch rather than its base, since the main branch may change often.
        let made = wanted.closures.iter().filter_map(|one| Some((&one.file, one.done.as_ref().ok()?)));
        let lists: Vec<_> = made.map(|(file, made)| (in_checkout(wanted.root, file), &made.text)).collect();
        let lists = lists.iter().map(|(path, text)| (path.as_str(), text.as_bytes()));
        let files: Vec<_> = std::iter::once((path.as_str(), manifest.as_bytes())).chain(lists).collect();
        let holds = branch.is_some_and(|branch| {
            files.iter().all(|(path, text)| self.remote.file_at(&branch.tip, path).as_deref() == Some(*text))
        });
        let body = body(wanted);
        let is_straightforward = wanted.update.is_straightforward();
        let mut has_changed = !holds;
        // A label set for an earlier version must not be on a change that needs a review, not even while this program runs.
        if let Some(pull) = pull.filter(|_| !is_straightforward) {
            has_changed |= self.describe(pull, &title, &body, false).await?;
        }
        if !holds {
            let message = commit(wanted);
            let commit = self.remote.commit(head, &files, &message, &self.identity);
            let commit = commit.map_err(why)?;
            self.remote.push(&name, &commit, branch.map(|branch| branch.tip.as_str())).map_err(why)?;
        }
        let Some(pull) = pull else {
            let opened = self.create(&name, &title, &body).await?;
            *address = Some(opened.address.clone());
            self.describe(&opened, &title, &body, is_straightforward).await?;
            return Ok(BranchChange::Opened);
        };
        if is_straightforward {
            has_changed |= self.describe(pull, &title, &body, true).await?;
        }
        Ok(if has_changed { BranchChange::Updated } else { BranchChange::Unchanged })
    }

    /// Sets the title, the text and the label of a request. Returns whether title or text were others.
    async fn describe(&self, pull: &Pull, title: &str, body: &str, is_straightforward: bool) -> Result<bool, String> {
        let is_other = pull.title != title || pull.body != body;
        if is_other {
            self.patch(&format!("pulls/{}", pull.number), &json!({ "title": title, "body": body })).await?;
        }
        if let Some(label) = &self.label
            && pull.labels.contains(label) != is_straightforward
        {
            let mut labels = pull.labels.clone();
            labels.retain(|one| one != label);
            labels.extend(is_straightforward.then(|| label.clone()));
            self.patch(&format!("issues/{}", pull.number), &json!({ "labels": labels })).await?;
        }
        Ok(is_other)
    }

    /// The manifest at a commit.
    fn manifest_at(&self, commit: &str, path: &str) -> Option<Manifest> {
        Manifest::parse(String::from_utf8(self.remote.file_at(commit, path)?).ok()?).ok()
    }

    async fn close(&self, branch: Option<&Branch>, pull: Option<&Pull>) -> Result<BranchChange, String> {
        let why = |error: git::Error| error.to_string();
        if let Some(branch) = branch
            && !self.remote.is_own(branch, &self.identity).map_err(why)?
        {
            return Ok(BranchChange::LeftAlone);
        }
        if let Some(pull) = pull {
            // The title is marked, to tell it from one that a person declined.
            let change = json!({ "state": "closed", "title": format!("{} (obsolete)", pull.title) });
            self.patch(&format!("pulls/{}", pull.number), &change).await?;
        }
        if let Some(branch) = branch {
            self.remote.delete(branch).map_err(why)?;
        }
        Ok(BranchChange::Closed)
    }
}

/// Whether the archives of a version that was proposed are others now, by their digests.
fn has_other_digests(proposed: &Manifest, now: &str, channel: Channel) -> bool {
    let Ok(now) = Manifest::parse(now.to_owned()) else { return false };
    let of_channel = |release: &Release<'_>| release.channel == channel;
    let before = proposed.agent().releases().find(of_channel);
    let Some((before, now)) = before.zip(now.agent().releases().find(of_channel)) else { return false };
    let is_other = |target: &BinaryTarget| {
        let same = now.distribution.binary.iter().find(|other| other.platform == target.platform);
        target.sha256.is_some() && same.is_none_or(|same| same.sha256 != target.sha256)
    };
    before.version == now.version && before.distribution.binary.iter().any(is_other)
}

/// The path of a file of an agent in git, which does not follow a folder that is a link.
fn in_checkout(root: &Path, file: &str) -> String {
    let Some((folder, name)) = file.split_once('/') else { return file.to_owned() };
    let real = || {
        let root = root.canonicalize().ok()?;
        let real = root.join(folder).canonicalize().ok()?;
        let parts: Option<Vec<&str>> = real.strip_prefix(root).ok()?.iter().map(|part| part.to_str()).collect();
        Some(parts?.join("/"))
    };
    format!("{}/{name}", real().unwrap_or_else(|| folder.to_owned()))
}

/// The name of the branch for an agent and channel.
fn branch_name(id: &str, channel: Channel) -> String {
    match channel {
        Channel::Stable => format!("{PREFIX}{id}"),
        Channel::Preview => format!("{PREFIX}{id}{PREVIEW}"),
    }
}

/// The agent and channel of a branch, see [`branch_name`].
fn parse_branch(branch: &str) -> (&str, Channel) {
    let name = branch.strip_prefix(PREFIX).unwrap_or(branch);
    name.strip_suffix(PREVIEW).map_or((name, Channel::Stable), |id| (id, Channel::Preview))
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
    let update = &*wanted.update;
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
            out.push_str(&to_review(reason));
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

/// A reason for a review, as a line of the description.
fn to_review(reason: &str) -> String {
    format!("- {}\n", prose(cut(&printable(reason))))
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

/// What GitHub says where a workflow's own token may open no pull request, and which setting lets it.
const NOT_PERMITTED: &str = "GitHub Actions is not permitted to create";
const PERMIT: &str = "in Settings, Actions, General of the repository, enable \"Allow GitHub Actions to create and approve pull requests\"";

/// Number of pull requests per page, and maximum number of pages.
const PER_PAGE: usize = 100;
const PAGES: usize = 50;

/// Maximum size of a response, in bytes.
const ANSWER_LIMIT: u64 = 32 << 20;

/// Maximum size of a pull request, in bytes. Its text may have 256 KiB, and JSON escapes can make that six times
/// longer.
const LARGEST: usize = 2 << 20;

/// The repository of a git remote.
fn find_repository(address: &str) -> Option<RepositoryName> {
    parts(address)?.1.parse().ok()
}

/// The host and the path in the address of a git remote: `https://host/owner/name.git` or `git@host:owner/name.git`.
fn parts(address: &str) -> Option<(String, String)> {
    if let Ok(url) = Url::parse(address)
        && let Some(host) = url.host_str()
    {
        return Some((host.to_ascii_lowercase(), url.path().trim_start_matches('/').to_owned()));
    }
    // A single letter is a drive of Windows, and two slashes belong to a URL.
    let (place, path) = address.split_once(':').filter(|(place, path)| place.len() > 1 && !path.starts_with("//"))?;
    let host = place.rsplit('@').next().unwrap_or(place).to_ascii_lowercase();
    // Behind the alias of a host, an absolute path is one of its files.
    let path = path.strip_prefix('/').filter(|_| host.contains('.')).unwrap_or(path);
    Some((host, path.to_owned()))
}

/// An open pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pull {
    number: u64,
    address: String,
    branch: String,
    title: String,
    body: String,
    labels: Vec<String>,
}

/// One page of pull requests.
#[derive(Debug)]
struct PullsPage {
    /// Number of pull requests on the page.
    length: usize,
    /// Pull requests from the repository itself, each with whether it was merged.
    own: Vec<(Pull, bool)>,
}

impl Proposer<'_> {
    /// Open pull requests from the repository's own branches that this program creates; `None` if the repository does not exist.
    async fn open_pulls(&self) -> Result<Option<Vec<Pull>>, SourceError> {
        let mut all = Vec::new();
        for page in 1..=PAGES {
            let url = self.url(&format!("pulls?state=open&per_page={PER_PAGE}&page={page}"));
            let Some(list) = self.list(&url).await? else { return Ok(None) };
            all.extend(list.own.iter().map(|(pull, _)| pull).filter(|pull| pull.branch.starts_with(PREFIX)).cloned());
            if list.length < PER_PAGE {
                break;
            }
        }
        Ok(Some(all))
    }

    async fn create(&self, branch: &str, title: &str, body: &str) -> Result<Pull, String> {
        let request =
            json!({ "head": branch, "base": self.base, "title": title, "body": body, "maintainer_can_modify": true });
        let value = self.client.change(Method::POST, &self.url("pulls"), &request).await;
        let value = value.map_err(|error| {
            let message = error.to_string();
            if message.contains(NOT_PERMITTED) { format!("{message}; {PERMIT}") } else { message }
        })?;
        pull(&value).ok_or_else(|| {
            "GitHub's response to the new pull request has no number; the next run will find it".to_owned()
        })
    }

    /// Whether a person closed a pull request with this title without merging it. Those closed by this program have
    /// another title.
    async fn is_declined(&self, branch: &str, title: &str) -> Result<bool, SourceError> {
        let head = format!("{}:{branch}", self.slug.owner);
        let mut url = self.url("pulls");
        url.query_pairs_mut().extend_pairs([("state", "closed"), ("head", &head), ("per_page", "100")]);
        let Some(list) = self.list(&url).await? else { return Ok(false) };
        let is_it = |(pull, is_merged): &(Pull, bool)| pull.branch == branch && pull.title == title && !is_merged;
        Ok(list.own.iter().any(is_it))
    }

    async fn list(&self, url: &Url) -> Result<Option<Arc<PullsPage>>, SourceError> {
        let slug = self.slug.to_string();
        let answer = self.client.understand(url, "application/vnd.github+json", ANSWER_LIMIT, |document| {
            let list: List<'_, PER_PAGE> = serde_json::from_slice(&document.body).map_err(|error| error.to_string())?;
            // The number of pull requests per page and their size are bounded, so each can be parsed as a whole.
            let small = list.items.iter().filter(|item| item.get().len() <= LARGEST);
            let own = small.filter_map(|item| own(&serde_json::from_str(item.get()).ok()?, &slug)).collect();
            Ok(PullsPage { length: list.items.len(), own })
        });
        let malformed = |message| SourceError::Malformed {
            url: acp_registry_http::shown(url),
            expected: "a list of pull requests",
            message,
        };
        answer.await?.transpose().map_err(malformed)
    }

    async fn patch(&self, path: &str, change: &Value) -> Result<(), String> {
        let answer = self.client.change(Method::PATCH, &self.url(path), change).await;
        answer.map(drop).map_err(|error| error.to_string())
    }

    fn url(&self, path: &str) -> Url {
        let mut url = self.github.api.clone();
        let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        // The base URL ends with a slash; owner and name need no escaping.
        url.set_path(&format!("{}repos/{}/{path}", url.path(), self.slug));
        url.set_query(query);
        url
    }
}

/// The pull request and whether it was merged; `None` if its branch is in a fork, where branches may have any name.
fn own(value: &Value, slug: &str) -> Option<(Pull, bool)> {
    let repository = value.pointer("/head/repo/full_name").and_then(Value::as_str)?;
    let is_merged = value.get("merged_at").is_some_and(|time| !time.is_null());
    repository.eq_ignore_ascii_case(slug).then(|| pull(value)).flatten().map(|pull| (pull, is_merged))
}

fn pull(value: &Value) -> Option<Pull> {
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let labels = value.get("labels").and_then(Value::as_array).into_iter().flatten();
    Some(Pull {
        number: value.get("number").and_then(Value::as_u64)?,
        address: text("/html_url"),
        branch: text("/head/ref"),
        title: text("/title"),
        body: text("/body"),
        labels: labels.filter_map(|label| Some(label.get("name")?.as_str()?.to_owned())).collect(),
    })
}

/// Further information for reviewers, by agent and channel: Markdown without untrusted text.
pub type Notes = BTreeMap<(String, Channel), String>;

/// Where pull requests are opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Name of the git remote.
    pub remote: String,
    /// The GitHub repository; `None` for that of the remote.
    pub repository: Option<RepositoryName>,
    /// The branch to merge into; `None` for the current one.
    pub base: Option<String>,
    /// The label of straightforward updates.
    pub label: Option<String>,
}

/// Why pull requests cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The remote cannot be used.
    #[error(transparent)]
    Git(#[from] git::Error),
    /// The repository has no remote of this name.
    #[error("the repository has no git remote {}", quote(.remote))]
    NoRemote {
        /// The name that was given, or the default.
        remote: String,
        /// The remotes of the repository.
        known: Vec<String>,
    },
    /// The remote is not on GitHub.
    #[error("the git remote {} does not lead to a repository on GitHub", quote(.remote))]
    NotGithub {
        /// The remote.
        remote: String,
        /// The other remotes.
        others: Vec<String>,
    },
    /// No branch is checked out.
    #[error("no branch is checked out")]
    NoBranch,
    /// Git has no `user.name` and `user.email` for commits.
    #[error("git has no name and e-mail address for commits")]
    NoIdentity,
}

/// Whether the address of a remote is on the GitHub that is asked. A name without a dot may be one for a host that only the
/// settings of ssh know.
fn is_on_github(address: &str, github: &Github) -> bool {
    let own = github.api.host_str().unwrap_or_default();
    let own = own.strip_prefix("api.").unwrap_or(own);
    parts(address).is_some_and(|(host, _)| host == own || host.ends_with(&format!(".{own}")) || !host.contains('.'))
}

impl<'a> Proposer<'a> {
    /// Fills in what the target leaves open from the git repository that contains the registry directory.
    ///
    /// # Errors
    /// Returns [`TargetError`].
    pub fn new(client: &'a Client, github: &'a Github, root: &Path, target: Target) -> Result<Self, TargetError> {
        let remote = Remote::new(root, &target.remote)?;
        let mut known = remote.all()?;
        // Anything else than a name is an address itself, as git takes it.
        let is_name = !target.remote.contains(['/', ':', '\\']);
        if is_name && !known.contains(&target.remote) {
            return Err(TargetError::NoRemote { remote: target.remote, known });
        }
        let slug = if let Some(slug) = target.repository {
            slug
        } else {
            let address = if is_name { remote.address()? } else { target.remote.clone() };
            let slug = find_repository(&address).filter(|_| is_on_github(&address, github));
            slug.ok_or_else(|| {
                known.retain(|name| *name != target.remote);
                TargetError::NotGithub { remote: target.remote, others: known }
            })?
        };
        let base = target.base.or_else(|| remote.current_branch()).ok_or(TargetError::NoBranch)?;
        let identity = remote.configured_identity().ok_or(TargetError::NoIdentity)?;
        Ok(Self { client, github, slug, remote, base, identity, label: target.label })
    }

    /// Opens or updates a pull request for each update among these results, and closes those that are obsolete. An agent whose
    /// sources could not be asked keeps its pull request. An update whose digests are others than those in its request gets a
    /// reason for a review.
    ///
    /// # Errors
    /// Returns [`Error`] if branches or pull requests cannot be listed. Errors of single agents are in their
    /// [`Proposal`].
    pub async fn propose_updates(
        &self,
        registry: &Registry,
        request: &BumpRequest,
        bumped: &mut [Bumped],
        notes: &Notes,
        closures: &[ClosureChange],
    ) -> Result<Vec<Proposal>, Error> {
        let head = self.remote.head()?;
        let branches = self.remote.branches(PREFIX)?;
        let open = self.open_pulls().await?.ok_or_else(|| Error::NoRepository(self.slug.clone()))?;
        let there = |name: &str| {
            let branch = branches.iter().find(|branch| branch.name == name);
            (branch, open.iter().find(|pull| pull.branch == name))
        };
        let mut proposals = Vec::new();
        for one in &mut *bumped {
            let Bumped { id, channel, result: Ok(ChannelOutcome::Update(update)), .. } = one else { continue };
            let Some(manifest) = registry.entry(id).and_then(|entry| entry.manifest.present()) else { continue };
            let is_own = |change: &&ClosureChange| change.id == *id && *channel == Channel::Stable;
            let mut wanted = ProposedUpdate {
                id,
                update,
                manifest,
                root: &registry.root,
                closures: closures.iter().filter(is_own).collect(),
                notes: notes.get(&(id.clone(), *channel)).map_or("", String::as_str),
            };
            let (branch, pull) = there(&branch_name(id, *channel));
            let mut address = pull.map(|pull| pull.address.clone());
            let result = self.propose_one(&head, &mut wanted, branch, pull, &mut address).await;
            proposals.push(Proposal { id: id.clone(), channel: *channel, result, address });
        }
        let names = branches.iter().map(|branch| &branch.name).chain(open.iter().map(|pull| &pull.branch));
        for name in names.collect::<BTreeSet<_>>() {
            let (branch, pull) = there(name);
            let (id, channel) = parse_branch(name);
            let one = bumped.iter().find(|one| one.id == id && one.channel == channel);
            let is_obsolete = match one.map(|one| &one.result) {
                Some(Ok(outcome)) => !matches!(outcome, ChannelOutcome::Update(_)),
                Some(Err(error)) => error.kind.has_no_update(),
                None => is_gone(registry, request, id, channel) && self.is_of_registry(branch, id),
            };
            if is_obsolete {
                let result = self.close(branch, pull).await;
                let address = pull.map(|pull| pull.address.clone());
                proposals.push(Proposal { id: id.to_owned(), channel, result, address });
            }
        }
        Ok(proposals)
    }

    /// Whether this program has made the branch, for an agent of this registry: the repository may hold others.
    fn is_of_registry(&self, branch: Option<&Branch>, id: &str) -> bool {
        branch.is_some_and(|branch| {
            self.remote.is_own(branch, &self.identity).unwrap_or_default()
                && self.remote.file_at(&branch.tip, &format!("{id}/agent.json")).is_some()
        })
    }
}

/// Whether a channel has no result because it is not in the registry any more, or in quarantine. Nothing is known of an agent
/// whose manifest cannot be read.
fn is_gone(registry: &Registry, request: &BumpRequest, id: &str, channel: Channel) -> bool {
    let entry = registry.entry(id).filter(|_| held(registry, id).is_none());
    let has_channel = |manifest: &Manifest| manifest.agent().releases().any(|release| release.channel == channel);
    request.covers(id, channel)
        && entry.is_none_or(|entry| entry.manifest.present().is_some_and(|one| !has_channel(one)))
}

impl From<TargetError> for Failure {
    fn from(error: TargetError) -> Self {
        let help = match error {
            TargetError::Git(git::Error::NoRepository) => {
                return Self::from(git::Error::NoRepository).help("run it in a clone of the registry's repository");
            }
            TargetError::Git(error) => return error.into(),
            TargetError::NoRemote { ref remote, ref known } if known.is_empty() => {
                format!("add it with `git remote add {remote} https://github.com/OWNER/NAME`")
            }
            TargetError::NotGithub { ref remote, ref others } if others.is_empty() => {
                format!("set its address with `git remote set-url {remote} https://github.com/OWNER/NAME`")
            }
            TargetError::NoRemote { known: ref others, .. } | TargetError::NotGithub { ref others, .. } => {
                let known = brief_list(others.iter().map(|name| quote(name)), NAMED);
                format!("name the remote on GitHub with --remote; there is {known}")
            }
            TargetError::NoBranch => "name the one to merge into with --base".to_owned(),
            TargetError::NoIdentity => "set user.name and user.email with `git config`".to_owned(),
        };
        Self::usage(error).help(help)
    }
}

/// The most remotes that a remedy lists.
const NAMED: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repositories_are_known_by_their_remotes() {
        for (address, slug) in [
            ("https://github.com/o/r.git", Some("o/r")),
            ("https://x-access-token:secret@github.com/o/r", Some("o/r")),
            ("git@github.com:o/r.git", Some("o/r")),
            ("git@github.com:/o/r.git", Some("o/r")),
            ("nas:/o/r.git", None),
            ("file:///o/r", None),
            ("C:/o/r", None),
            ("ssh://git@git.example/o/r/", Some("o/r")),
            ("../remote", None),
            ("https://github.com/o", None),
            ("https://github.com/o/r/x", None),
            ("https://github.com/o/%2e%2e", None),
        ] {
            assert_eq!(find_repository(address).map(|slug| slug.to_string()).as_deref(), slug, "{address}");
        }
    }

    #[test]
    fn a_remote_elsewhere_is_not_taken_for_github() {
        let public = Github::new("https://api.github.com").unwrap();
        let own = Github::new("https://git.example/api/v3").unwrap();
        for (address, is_public, is_own) in [
            ("https://github.com/o/r.git", true, false),
            ("https://x-access-token:secret@GitHub.com/o/r", true, false),
            ("git@github.com:o/r.git", true, false),
            ("ssh://git@ssh.github.com:443/o/r", true, false),
            ("git@github-of-work:o/r.git", true, true),
            ("https://gitlab.example/o/r", false, false),
            ("git@git.example:o/r", false, true),
            ("https://notgithub.com/o/r", false, false),
            ("../remote", false, false),
            ("/srv/git/o/r", false, false),
        ] {
            assert_eq!((is_on_github(address, &public), is_on_github(address, &own)), (is_public, is_own), "{address}");
        }
    }
}
