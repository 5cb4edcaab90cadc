//! Pull requests of `bump`.

use std::collections::BTreeMap;

use acp_registry::bump::{Bumped, Outcome};
use acp_registry::manifest::Channel;
use acp_registry::net::Client;
use acp_registry::propose::{self, Proposal, Proposer, Slug, Wanted};
use acp_registry::registry::Registry;
use acp_registry::source::apply;
use acp_registry::sys::git::Remote;
use acp_registry::upstream::github::Github;

use super::exit::Failure;
use super::signals;

/// What handshakes have shown, by agent and channel.
pub(super) type Notes = BTreeMap<(String, Channel), String>;

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Pull requests")]
pub(super) struct ProposeArgs {
    /// Open or update a pull request for each update
    ///
    /// Requests that are obsolete are closed.
    #[arg(long, conflicts_with = "apply")]
    pub(super) pull_requests: bool,

    /// The git remote
    #[arg(long, value_name = "NAME", default_value = "origin", requires = "pull_requests")]
    remote: String,

    /// The repository on GitHub
    ///
    /// The default is `GITHUB_REPOSITORY`, else the address of the remote.
    #[arg(long, value_name = "OWNER/NAME", requires = "pull_requests")]
    repository: Option<Slug>,

    /// The branch to merge into [default: the current one]
    #[arg(long, value_name = "BRANCH", requires = "pull_requests")]
    base: Option<String>,

    /// The label of straightforward updates
    ///
    /// These may be merged without a person.
    #[arg(long, value_name = "LABEL", requires = "pull_requests")]
    label: Option<String>,
}

/// Proposes the updates, and takes back proposals of agents that need none any more.
pub(super) fn run(
    args: &ProposeArgs,
    registry: &Registry,
    bumped: &[Bumped],
    notes: &Notes,
    client: &Client,
    github: &Github,
) -> Result<Vec<Proposal>, Failure> {
    if std::env::var_os("GITHUB_TOKEN").is_none_or(|token| token.is_empty()) {
        let help = "set GITHUB_TOKEN to a token that may write to the repository";
        return Err(Failure::usage("pull requests need GITHUB_TOKEN").help(help));
    }
    let remote = Remote::new(&registry.root, &args.remote)?;
    let usage = |message: &str, help: &str| Failure::usage(message).help(help);
    let named = std::env::var("GITHUB_REPOSITORY").ok().filter(|name| !name.is_empty());
    let slug = match (&args.repository, named) {
        (Some(slug), _) => slug.clone(),
        (None, Some(name)) => name.parse().map_err(|error| Failure::usage(format!("GITHUB_REPOSITORY {error}")))?,
        (None, None) => Slug::of_remote(&remote.address().map_err(Failure::unable)?)
            .ok_or_else(|| usage("the remote is not a repository on GitHub", "name one with --repository"))?,
    };
    let base = args.base.clone().or_else(|| remote.current_branch());
    let base = base.ok_or_else(|| usage("no branch is checked out", "name the one to merge into with --base"))?;
    let identity = remote
        .configured_identity()
        .ok_or_else(|| usage("git does not know who commits", "set user.name and user.email with `git config`"))?;
    let proposer = Proposer { client, github, slug, remote, base, identity, label: args.label.clone() };
    let text = |id: &str| registry.text(&format!("{id}/agent.json")).unwrap_or_default();
    let wanted = bumped.iter().filter_map(|one| match &one.result {
        Ok(Outcome::Update(update)) => {
            let manifest = apply(text(&one.id), &update.edits);
            let notes = notes.get(&(one.id.clone(), one.channel)).cloned().unwrap_or_default();
            Some(Wanted { id: &one.id, update, original: text(&one.id), manifest, notes })
        }
        _ => None,
    });
    let wanted: Vec<Wanted<'_>> = wanted.collect();
    let settled = bumped.iter().filter(|one| matches!(one.result, Ok(Outcome::UpToDate)));
    let settled: Vec<(String, Channel)> = settled.map(|one| (one.id.clone(), one.channel)).collect();
    signals::run_and_forget(proposer.propose(&wanted, &settled))?.map_err(|error| {
        let help = match &error {
            propose::Error::Git(error) => error.remedy(),
            propose::Error::Github(error) => error.remedy(github),
            propose::Error::NoRepository(_) => {
                Some("name another with --repository, or set GITHUB_TOKEN to a token that may read it".to_owned())
            }
        };
        Failure::unable(error).help_if(help.as_deref())
    })
}
