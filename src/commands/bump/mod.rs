//! `acp-registry bump`

pub(crate) mod text;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use acp_registry::advisories::Advisories;
use acp_registry::bump::{
    BumpRequest, BumpRun, Bumped, Bumper, ChannelOutcome, Compared, ErrorKind, Passed, manifests_with_lists,
    review_list,
};
use acp_registry::closures::{ClosureChange, ClosureMaker};
use acp_registry::duration;
use acp_registry::examination::{Demand, Level, VerdictCounts};
use acp_registry::failure::{Exit, Failure};
use acp_registry::host::fs::temporary;
use acp_registry::http::{AllowedHosts, Client};
use acp_registry::manifest::{Channel, Manifest};
use acp_registry::propose::{self, Notes, Proposal, Proposer, Target};
use acp_registry::registry::Registry;
use acp_registry::select::{are_all_withdrawn, load_active};
use acp_registry::sources::RepositoryName;
use acp_registry::sources::github::Github;
use acp_registry::text::{code_span, printable, prose, quote};
use acp_registry::verify::{Nothing, Row};
use clap::ValueEnum;
use serde_json::{Map, Value};
use time::OffsetDateTime;

use self::text::BumpReport;
use crate::commands::verifier;
use crate::flags::global::{Global, configured_levels};
use crate::flags::verifier::{VerifierArgs, VerifierSettings};
use crate::flags::{candidates, level, network, value};
use crate::terminal::progress::Count;
use crate::terminal::signals;
use crate::terminal::ui::Ui;

/// The values of `--channel`.
const CHANNELS: [Channel; 2] = [Channel::Stable, Channel::Preview];

/// Environment variables that may hold a GitHub token.
const TOKENS: [&str; 4] = ["GITHUB_TOKEN", "GH_TOKEN", "GITHUB_ENTERPRISE_TOKEN", "GH_ENTERPRISE_TOKEN"];

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Args {
    /// Agents to look at [default: all that are not in quarantine]
    #[arg(value_name = "ID", add = candidates::checked_out())]
    ids: Vec<String>,

    /// Write the newer versions into the manifests
    #[arg(long)]
    apply: bool,

    /// Change nothing; exit 1 if there are updates (the default)
    #[arg(long, conflicts_with_all = ["apply", "pull_requests"])]
    dry_run: bool,

    /// Look at this channel only (repeatable)
    ///
    /// The default is both.
    #[arg(long, value_name = "CHANNEL", value_parser = value::parse_name(&CHANNELS, Channel::as_str))]
    channel: Vec<Channel>,

    /// Skip versions younger than this, such as 3d or 12h
    #[arg(long, value_name = "DURATION", default_value = "0", value_parser = duration::parse)]
    min_age: Duration,

    /// Install and start newer versions, and take those that pass
    ///
    /// The flags for installing and starting agents need this one. While a token of GitHub is set, --sandbox is needed.
    #[arg(long)]
    verify: bool,

    /// With --verify, examine the versions before and after up to this level
    ///
    /// An update that fails a check that the version before passed is not straightforward.
    #[arg(long, value_name = "LEVEL", value_parser = level::level(), requires = "verify")]
    level: Option<Level>,

    /// Record in this file since when updates of agents have failed
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,

    /// Report agents whose updates have failed for this long, for quarantine
    #[arg(long, value_name = "DURATION", requires = "state", value_parser = duration::parse)]
    quarantine_after: Option<Duration>,

    /// Use no cache, and leave nothing in one
    #[arg(long)]
    no_cache: bool,

    /// Form of the result
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: BumpFormat,

    /// Short for `--format json`
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    propose: ProposeArgs,

    #[command(flatten)]
    verifier: VerifierArgs,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Pull requests")]
struct ProposeArgs {
    /// Open or update a pull request for each update
    ///
    /// Needs `GITHUB_TOKEN`. Pull requests that are obsolete are closed.
    #[arg(long, conflicts_with = "apply")]
    pull_requests: bool,

    /// The git remote that branches are pushed to
    ///
    /// It leads to the repository on GitHub that gets the pull requests.
    #[arg(long, value_name = "NAME", default_value = "origin", requires = "pull_requests")]
    remote: String,

    /// The repository on GitHub that gets the pull requests
    ///
    /// The default is `GITHUB_REPOSITORY`, else the repository that the address of --remote names.
    #[arg(long, value_name = "OWNER/REPO", requires = "pull_requests", value_parser = value::repository)]
    repository: Option<RepositoryName>,

    /// The branch to merge into [default: the current one]
    #[arg(long, value_name = "BRANCH", requires = "pull_requests")]
    base: Option<String>,

    /// The label of straightforward updates
    ///
    /// A workflow may merge these without a review.
    #[arg(long, value_name = "LABEL", requires = "pull_requests")]
    label: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BumpFormat {
    Human,
    Json,
    Markdown,
}

impl Args {
    pub(crate) fn is_json(&self) -> bool {
        self.json || self.format == BumpFormat::Json
    }

    fn request(&self) -> BumpRequest {
        BumpRequest {
            ids: self.ids.clone(),
            channels: self.channel.clone(),
            state: self.state.clone(),
            quarantine_after: self.quarantine_after,
            apply: self.apply,
        }
    }
}

/// The help if each agent failed.
const CAUSES: &str = "see the message of each agent";

pub(crate) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let config = global.config()?;
    let levels = configured_levels(&config, &global.config_file(&global.registry_dir()))?;
    let allowed = global.allowed_hosts()?;
    if args.verifier.is_set() && !args.verify {
        return Err(Failure::usage("flags for installing and starting agents need --verify"));
    }
    if args.verify && args.verifier.sandbox.is_none() {
        refuse_token()?;
    }
    let registry = load_active(&global.registry_dir(), &config, &args.ids)?;
    let request = args.request();
    let session = BumpRun::begin(&registry, &request)?;
    let now = OffsetDateTime::now_utc();
    let (client, sources, _) = network::connect(&allowed, session.needs(), !args.no_cache, ui)?;
    let advisories = verifier::all_advisories((&config, &allowed), &registry, !args.no_cache, ui)?;
    let bumper = Bumper {
        client: &client,
        sources: &sources,
        config: &config,
        levels: &levels,
        allowed_hosts: &allowed,
        advisories: &advisories,
        min_age: args.min_age,
        now,
    };
    let progress = Count::agents(ui);
    progress.plan(session.count());
    let done = |id: &str| {
        progress.step();
        ui.detail(&format!("{}: looked at", printable(id)));
    };
    let looked = signals::run_and_forget(session.look(&bumper, &done));
    progress.clear();
    let mut results = looked?;
    let mut notes = Notes::new();
    let writes = args.apply || args.propose.pull_requests;
    let mut closures = if writes || args.verify {
        new_closures(args, (&registry, &advisories), &results, (&bumper, &allowed), ui)?
    } else {
        Vec::new()
    };
    if args.verify {
        let level = args.level.map(|level| level::refuse_transport(level, false)).transpose()?;
        let demand = Demand::new(level, None).with_recipes(config.examine.recipes.clone());
        let use_cache = !args.no_cache;
        let settings =
            VerifierSettings { allowed: &allowed, config: &config, probes: true, use_cache, demand: &demand };
        let new = closures.iter().filter_map(ClosureChange::published).collect();
        let mut starts = session.starts(&results, &demand, &new);
        let tasks = std::mem::take(&mut starts.tasks);
        let rows = verifier::run(&args.verifier, settings, tasks.into(), &|_| (), ui)?.rows;
        for Passed { row, before, compared } in starts.judge(&mut results, rows) {
            let examined = compared.as_ref().map(examination_notes).unwrap_or_default();
            let text = handshake_notes(&row, before.as_ref()) + &examined;
            notes.entry((row.id, row.channel)).or_default().push_str(&text);
        }
    }
    // A version that did not pass gets no list.
    let kept: BTreeSet<String> =
        manifests_with_lists(&registry, &results, args.apply).into_iter().map(|(id, _)| id).collect();
    closures.retain(|change| kept.contains(&change.id));
    for change in &closures {
        review_list(change, &mut results);
    }
    let mut finished = session.end(results, &mut closures, now)?;
    if writes {
        say_closures(&closures, &finished.bumped, ui);
    }
    let proposals = if args.propose.pull_requests {
        propose(
            &args.propose,
            &registry,
            (&request, &mut finished.bumped),
            (&notes, &closures),
            &client,
            &sources.github,
        )?
    } else {
        Vec::new()
    };

    let nothing = registry
        .entries
        .is_empty()
        .then(|| if are_all_withdrawn(&registry, &config) { Nothing::Withdrawn } else { Nothing::NoAgents });
    let report = BumpReport { finished: &finished, proposals: &proposals, nothing: nothing.as_ref() };
    let results = &finished.bumped;
    let is_unable = |count: usize, errors: usize| count > 0 && count == errors;
    let errors = results.iter().filter(|one| one.result.is_err()).count();
    let not_proposed = proposals.iter().filter(|proposal| proposal.result.is_err()).count();
    let is_only_found = !args.apply && !args.propose.pull_requests;
    let is_left = |one: &Bumped| match &one.result {
        Ok(ChannelOutcome::Update(_)) => is_only_found,
        Ok(_) => false,
        Err(error) => error.kind == ErrorKind::NotWritten,
    };
    let has_left = not_proposed > 0 || results.iter().any(is_left);
    let failure = if is_unable(results.len(), errors) {
        let is_seen = |one: &Bumped| one.result.as_ref().is_err_and(|error| error.kind.is_of_update());
        let done = if results.iter().any(is_seen) { "updated" } else { "looked at" };
        Some(Failure::unable(format!("no agent could be {done}")).help(CAUSES))
    } else if is_unable(proposals.len(), not_proposed) {
        Some(Failure::unable("no update could be proposed").help(CAUSES))
    } else {
        None
    };
    ui.result(&if args.is_json() {
        report.document().failed(failure.clone()).to_text()
    } else if args.format == BumpFormat::Markdown {
        report.markdown()
    } else {
        report.human(ui.look())
    })?;
    ui.detail(&format!("answers from the network: {}", client.answers()));
    Ok(if let Some(failure) = failure {
        ui.failure(&failure);
        Exit::Unable
    } else if has_left {
        Exit::Findings
    } else {
        Exit::Success
    })
}

/// Opens or updates pull requests for the updates, and closes those that are obsolete.
fn propose(
    args: &ProposeArgs,
    registry: &Registry,
    (request, bumped): (&BumpRequest, &mut [Bumped]),
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
            Failure::usage(message).help("set it to OWNER/REPO, or unset it")
        })
    });
    let repository = match &args.repository {
        Some(slug) => Some(slug.clone()),
        None => named.transpose()?,
    };
    let target = Target { remote: args.remote.clone(), repository, base: args.base.clone(), label: args.label.clone() };
    let proposer = Proposer::new(client, github, &registry.root, target)?;
    signals::run_and_forget(proposer.propose_updates(registry, request, bumped, notes, closures))?.map_err(|error| {
        let help = match &error {
            propose::Error::NoRepository(_) => {
                Some("name another with --repository, or set GITHUB_TOKEN to a token that may read it".to_owned())
            }
            _ => error.remedy(github),
        };
        Failure::unable(error).help_if(help)
    })
}

/// Has the package managers list what the new versions need, of agents whose lists the registry keeps.
fn new_closures(
    args: &Args,
    (registry, advisories): (&Registry, &Advisories),
    results: &[Bumped],
    (bumper, allowed): (&Bumper<'_>, &AllowedHosts),
    ui: &Ui,
) -> Result<Vec<ClosureChange>, Failure> {
    let manifests = manifests_with_lists(registry, results, args.apply);
    let agents: Vec<_> = manifests.iter().map(|(id, manifest)| (id.as_str(), manifest)).collect();
    let keeps_one = |(id, manifest): &(&str, &Manifest)| registry.closures(id, manifest).next().is_some();
    if !agents.iter().any(keeps_one) {
        return Ok(Vec::new());
    }
    let Bumper { client, sources, config, .. } = *bumper;
    let demand = Demand::default();
    let settings = VerifierSettings { allowed, config, probes: false, use_cache: !args.no_cache, demand: &demand };
    let installer = args.verifier.verifier(settings, ui)?.installer;
    let max_days_newer = config.closures.max_days_newer;
    let maker = ClosureMaker {
        registry,
        installer: &installer,
        client,
        sources,
        advisories,
        max_days_newer,
        temporary: &temporary(),
    };
    signals::run(ui, maker.make(&agents, true))
}

/// Says what the new lists of packages have, of agents that are written or proposed. The report has the others.
fn say_closures(closures: &[ClosureChange], bumped: &[Bumped], ui: &Ui) {
    for change in closures {
        let own = bumped.iter().find(|one| one.id == change.id && one.channel == Channel::Stable);
        if own.is_none_or(|one| one.result.is_err()) {
            continue;
        }
        match &change.done {
            Ok(made) => ui.note(&format!("{} has {}", change.file, made.diff)),
            Err(error) => {
                ui.warning(&format!(
                    "{} still has the packages of the version before: it was not made anew: {error}",
                    change.file
                ));
            }
        }
    }
}

/// Refuses to start agents while a token is set. Without a sandbox, an agent may be able to read the environment of other
/// processes, and the token may allow writing to the registry.
fn refuse_token() -> Result<(), Failure> {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|token| !token.is_empty());
    let Some(name) = TOKENS.into_iter().find(|name| is_set(name)) else { return Ok(()) };
    let failure = Failure::usage(format!("--verify starts agents, and {name} is set, which they could read"));
    Err(failure.help("hide it from them with --sandbox bwrap, or unset it"))
}

/// Maximum number of changed checks in a pull request.
const CHANGES: usize = 40;

/// Describes the handshake with the new version, as Markdown for a pull request. `earlier` holds the capabilities of the
/// previous version.
pub(crate) fn handshake_notes(row: &Row, earlier: Option<&Map<String, Value>>) -> String {
    let result = row.to_json();
    let handshake = &result["handshake"];
    let types = handshake["auth_methods"].as_array().into_iter().flatten().filter_map(|method| method["type"].as_str());
    let types: Vec<String> = types.map(code_span).collect();
    let mut out =
        format!("Started with {}: {}, sign in by {}.\n", row.distribution(), row.verdict().as_str(), types.join(", "));
    let now = handshake["features"].as_object();
    let is_on = |features: Option<&Map<String, Value>>, name: &str| {
        features.and_then(|features| features.get(name)).and_then(Value::as_bool).unwrap_or_default()
    };
    let names = now.into_iter().chain(earlier).flat_map(Map::keys).collect::<BTreeSet<_>>();
    let changed = names.into_iter().filter(|name| earlier.is_some() && is_on(now, name) != is_on(earlier, name));
    for name in changed {
        out.push_str(&format!("- {} {}\n", if is_on(now, name) { "new:" } else { "gone:" }, code_span(name)));
    }
    out
}

/// Describes how the examination of a new version differs from that of the version before, as Markdown for a pull request.
/// Durations are left out, so that the text is the same on every run.
pub(crate) fn examination_notes(compared: &Compared) -> String {
    let level = compared.reached.map_or_else(
        || "The agent could not be examined".to_owned(),
        |level| format!("Examined at the level {}", code_span(level.as_str())),
    );
    let counts = |summary: &VerdictCounts| {
        let ran = summary.passed + summary.failed + summary.warnings;
        format!("{} of {ran} checks passed", summary.passed)
    };
    let before = compared.before.as_ref().map_or_else(
        || "the version before could not be examined".to_owned(),
        |summary| format!("before: {}", counts(summary)),
    );
    let mut out = format!("{level}: {} ({before}).\n", counts(&compared.after));
    for change in compared.changes.iter().take(CHANGES) {
        let why = change.message.as_deref().map_or_else(String::new, |message| format!(": {}", prose(message)));
        let (before, after) = (change.before.as_str(), change.after.as_str());
        out.push_str(&format!("- {}: {before} → {after}{why}\n", code_span(&change.check)));
    }
    if compared.changes.len() > CHANGES {
        out.push_str(&format!("- and {} more\n", compared.changes.len() - CHANGES));
    }
    out
}
