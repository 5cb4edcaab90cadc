//! Pull requests of `bump`.

use acp_registry::bump::Bumped;
use acp_registry::closures::ClosureChange;
use acp_registry::http::Client;
use acp_registry::propose::{self, Notes, Proposal, Proposer, Slug, Target};
use acp_registry::registry::Registry;
use acp_registry::sources::github::Github;

use crate::flags::value;
use crate::terminal::signals;
use acp_registry::failure::Failure;
use acp_registry::text::quote;

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Pull requests")]
pub(crate) struct ProposeArgs {
    /// Open or update a pull request for each update
    ///
    /// Needs `GITHUB_TOKEN`. Requests that are obsolete are closed.
    #[arg(long, conflicts_with = "apply")]
    pub(crate) pull_requests: bool,

    /// The git remote that branches are pushed to
    ///
    /// It leads to the repository on GitHub that gets the requests.
    #[arg(long, value_name = "NAME", default_value = "origin", requires = "pull_requests")]
    remote: String,

    /// The repository on GitHub that gets the requests
    ///
    /// The default is `GITHUB_REPOSITORY`, else the repository that the address of --remote names.
    #[arg(long, value_name = "OWNER/NAME", requires = "pull_requests", value_parser = value::slug)]
    repository: Option<Slug>,

    /// The branch to merge into [default: the current one]
    #[arg(long, value_name = "BRANCH", requires = "pull_requests")]
    base: Option<String>,

    /// The label of straightforward updates
    ///
    /// A workflow may merge these without a review.
    #[arg(long, value_name = "LABEL", requires = "pull_requests")]
    label: Option<String>,
}

/// Opens or updates pull requests for the updates, and closes those of agents that need none any more.
pub(crate) fn run(
    args: &ProposeArgs,
    registry: &Registry,
    bumped: &[Bumped],
    (notes, closures): (&Notes, &[ClosureChange]),
    client: &Client,
    github: &Github,
) -> Result<Vec<Proposal>, Failure> {
    if std::env::var_os("GITHUB_TOKEN").is_none_or(|token| token.is_empty()) {
        let help = "set GITHUB_TOKEN to a token that may write to the repository";
        return Err(Failure::usage("pull requests need GITHUB_TOKEN").help(help));
    }
    let named = std::env::var("GITHUB_REPOSITORY").ok().filter(|name| !name.is_empty());
    let named = named.map(|name| {
        name.parse().map_err(|_| {
            let message = format!("GITHUB_REPOSITORY is {}, which is not the name of a repository", quote(&name));
            Failure::usage(message).help("set it to OWNER/NAME, or unset it")
        })
    });
    let repository = match &args.repository {
        Some(slug) => Some(slug.clone()),
        None => named.transpose()?,
    };
    let target = Target { remote: args.remote.clone(), repository, base: args.base.clone(), label: args.label.clone() };
    let proposer = Proposer::new(client, github, &registry.root, target)?;
    signals::run_and_forget(proposer.propose_updates(registry, bumped, notes, closures))?.map_err(|error| {
        let help = match &error {
            propose::Error::NoRepository(_) => {
                Some("name another with --repository, or set GITHUB_TOKEN to a token that may read it".to_owned())
            }
            _ => error.remedy(github),
        };
        Failure::unable(error).help_if(help)
    })
}
