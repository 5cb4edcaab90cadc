//! `acp-registry bump`

use std::path::PathBuf;
use std::time::Duration;

use acp_registry::bump::{Bumped, Bumper, ErrorKind, Outcome, Troubles};
use acp_registry::config::Config;
use acp_registry::manifest::{Channel, Manifest, Platform};
use acp_registry::net::AllowedHosts;
use acp_registry::registry::{Entry, Loaded, Registry};
use acp_registry::report::{BumpReport, handshake_notes};
use acp_registry::select::load_active;
use acp_registry::source::{Edit, apply};
use acp_registry::sys::fs::{check_writable, read_bounded, write_atomic};
use acp_registry::verify::{Selection, Snapshot, Verdict, plan};
use clap::ValueEnum;
use time::OffsetDateTime;

use super::candidates;
use super::duration;
use super::exit::{Exit, Failure};
use super::global::{Global, configured_levels};
use super::live::{self, LiveArgs, Settings};
use super::network::{self, Needs};
use super::progress::Count;
use super::propose::{self, Notes, ProposeArgs};
use super::remedy::unwritable;
use super::signals;
use super::ui::Ui;

/// Variables with a token for GitHub.
const TOKENS: [&str; 4] = ["GITHUB_TOKEN", "GH_TOKEN", "GITHUB_ENTERPRISE_TOKEN", "GH_ENTERPRISE_TOKEN"];

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(super) struct Args {
    /// Agents to look at [default: all that are not in quarantine]
    #[arg(value_name = "ID", add = candidates::checked_out())]
    ids: Vec<String>,

    /// Write the newer versions into the manifests
    #[arg(long)]
    apply: bool,

    /// Only show newer versions, which is the default
    #[arg(long, conflicts_with_all = ["apply", "pull_requests"])]
    dry_run: bool,

    /// Look at this channel only (repeatable)
    ///
    /// The default is both.
    #[arg(long, value_name = "CHANNEL")]
    channel: Vec<ChannelName>,

    /// Skip versions younger than this, such as 3d or 12h
    #[arg(long, value_name = "DURATION", default_value = "0", value_parser = duration::parse)]
    min_age: Duration,

    /// Install and start newer versions, and take those that pass
    #[arg(long)]
    verify: bool,

    /// Record in this file how long agents have had trouble
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,

    /// Propose agents for quarantine after this long
    #[arg(long, value_name = "DURATION", requires = "state", value_parser = duration::parse)]
    quarantine_after: Option<Duration>,

    /// Ask for everything again, and keep nothing
    #[arg(long)]
    no_cache: bool,

    /// Form of the result
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: Format,

    /// Short for `--format json`
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    propose: ProposeArgs,

    #[command(flatten)]
    live: LiveArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Human,
    Json,
    Markdown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ChannelName {
    Stable,
    Preview,
}

impl Args {
    pub(super) fn is_json(&self) -> bool {
        self.json || self.format == Format::Json
    }

    fn channels(&self) -> Vec<Channel> {
        if self.channel.is_empty() {
            return vec![Channel::Stable, Channel::Preview];
        }
        let channel = |name: &ChannelName| match name {
            ChannelName::Stable => Channel::Stable,
            ChannelName::Preview => Channel::Preview,
        };
        self.channel.iter().map(channel).collect()
    }
}

pub(super) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let config = global.config()?;
    let levels = configured_levels(&config)?;
    let allowed = global.allowed_hosts()?;
    if args.live.is_set() && !args.verify {
        return Err(Failure::usage("flags for installing and starting agents need --verify"));
    }
    if args.verify && !args.live.has_sandbox() {
        refuse_token()?;
    }
    let registry = load_active(&global.registry_dir(), &config, &args.ids)?;
    if let Some(path) = &args.state {
        check_writable(path).map_err(|error| unwritable(error, "--state"))?;
    }
    let mut troubles = args.state.as_deref().map(Troubles::read).transpose()?;
    let now = OffsetDateTime::now_utc();
    let (entries, quarantined) = entries(args, &registry);
    let distributions = || {
        let manifests = entries.iter().filter_map(|entry| entry.manifest.present());
        manifests.flat_map(|manifest| manifest.agent().releases()).map(|release| release.distribution)
    };
    let needs = Needs {
        npm: distributions().any(|distribution| distribution.npx.is_some()),
        pypi: distributions().any(|distribution| distribution.uvx.is_some()),
    };
    let (client, sources, _) = network::connect(&allowed, needs, !args.no_cache, ui)?;
    let worker = Bumper {
        client: &client,
        sources: &sources,
        config: &config,
        levels: &levels,
        allowed_hosts: &allowed,
        min_age: args.min_age,
        now,
    };
    let progress = Count::agents(ui);
    progress.plan(entries.len());
    let done = |id: &str| {
        progress.step();
        ui.detail(&format!("{id}: looked at"));
    };
    let bumped = signals::run_and_forget(worker.run(&registry, &entries, &args.channels(), &done));
    progress.clear();
    let mut bumped = bumped?;
    let notes =
        if args.verify { start_newer(args, &registry, &config, &allowed, &mut bumped, ui)? } else { Notes::new() };
    if let (Some(troubles), Some(path)) = (&mut troubles, &args.state) {
        troubles.update(&bumped, now);
        troubles.keep(|id| registry.entry(id).is_some());
        write_atomic(path, troubles.to_text().as_bytes())?;
    }
    let to_hold = to_hold(args, &registry, troubles.as_ref(), now);
    let (mut bumped, to_release) = released(args, &registry, bumped);
    if args.apply {
        write(&registry, &mut bumped);
    }

    let proposals = if args.propose.pull_requests {
        propose::run(&args.propose, &registry, &bumped, &notes, &client, &sources.github)?
    } else {
        Vec::new()
    };

    let report = BumpReport {
        bumped: &bumped,
        quarantined: &quarantined,
        proposals: &proposals,
        troubles: troubles.as_ref(),
        to_hold: &to_hold,
        to_release: &to_release,
        is_applied: args.apply,
    };
    ui.result(&if args.is_json() {
        acp_registry::json::to_string(&report.to_json())
    } else if args.format == Format::Markdown {
        report.markdown()
    } else {
        report.human(ui.look())
    })?;
    ui.detail(&format!("answers from the network: {}", client.answers()));
    if proposals.iter().any(|proposal| proposal.result.is_err())
        && proposals.iter().all(|proposal| proposal.result.is_err())
    {
        return Ok(Exit::Unable);
    }
    let has_update = bumped.iter().any(|one| matches!(one.result, Ok(Outcome::Update(_))));
    Ok(if !bumped.is_empty() && bumped.iter().all(|one| one.result.is_err()) {
        Exit::Unable
    } else if has_update && !args.apply && !args.propose.pull_requests {
        Exit::Findings
    } else {
        Exit::Success
    })
}

/// Without a sandbox, an agent may read the environment of processes that have a token, which may write to the registry.
fn refuse_token() -> Result<(), Failure> {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|token| !token.is_empty());
    let Some(name) = TOKENS.into_iter().find(|name| is_set(name)) else { return Ok(()) };
    let failure = Failure::usage(format!("--verify starts agents, and {name} is set, which they could read"));
    Err(failure.help("hide it from them with --sandbox bwrap, or unset it"))
}

/// The agents to look at, and those that are passed over: what is in quarantine, unless it is there since updates failed.
fn entries<'a>(args: &Args, registry: &'a Registry) -> (Vec<&'a Entry>, Vec<String>) {
    if !args.ids.is_empty() {
        return (registry.entries.iter().filter(|entry| args.ids.contains(&entry.id)).collect(), Vec::new());
    }
    let is_passed_over =
        |entry: &&Entry| held(registry, &entry.id).is_some_and(|reason| !Troubles::is_proposed(reason));
    let (quarantined, entries): (Vec<&Entry>, Vec<&Entry>) = registry.entries.iter().partition(is_passed_over);
    (entries, quarantined.into_iter().map(|entry| entry.id.clone()).collect())
}

/// Why an agent is in quarantine, if it is.
fn held<'a>(registry: &'a Registry, id: &str) -> Option<&'a str> {
    let Loaded::Present(quarantine) = &registry.quarantine else { return None };
    quarantine.holds.get(id).map(|hold| hold.reason.as_str())
}

/// Agents that have had trouble for too long, and why that is to be written into the quarantine list.
fn to_hold(
    args: &Args,
    registry: &Registry,
    troubles: Option<&Troubles>,
    now: OffsetDateTime,
) -> Vec<(String, String)> {
    let (Some(after), Some(troubles)) = (args.quarantine_after, troubles) else { return Vec::new() };
    let free = registry.entries.iter().map(|entry| entry.id.as_str()).filter(|id| held(registry, id).is_none());
    free.filter_map(|id| Some((id.to_owned(), troubles.reason(id, after, now)?))).collect()
}

/// Takes out of the result what is in quarantine, and names what can leave it.
fn released(args: &Args, registry: &Registry, bumped: Vec<Bumped>) -> (Vec<Bumped>, Vec<String>) {
    if !args.ids.is_empty() {
        return (bumped, Vec::new());
    }
    let (held, free): (Vec<Bumped>, Vec<Bumped>) =
        bumped.into_iter().partition(|one| held(registry, &one.id).is_some());
    let works = |of: &[Bumped]| of.iter().all(|one| one.result.is_ok());
    let released = held.chunk_by(|a, b| a.id == b.id).filter(|of| works(of)).map(|of| of[0].id.clone()).collect();
    (free, released)
}

/// Starts the newer versions. Those that do not pass become errors of their agents; of the others, what is to be said in a
/// pull request is returned.
fn start_newer(
    args: &Args,
    registry: &Registry,
    config: &Config,
    allowed: &AllowedHosts,
    bumped: &mut [Bumped],
    ui: &Ui,
) -> Result<Notes, Failure> {
    let earlier = Snapshot::read(&registry.root.join("capabilities.json")).ok();
    let mut tasks = Vec::new();
    for one in bumped.iter() {
        let edits: Vec<Edit> = updates(one).collect();
        let text = apply(registry.text(&format!("{}/agent.json", one.id)).unwrap_or_default(), &edits);
        let Ok(manifest) = Manifest::parse(text) else { continue };
        if edits.is_empty() {
            continue;
        }
        let entry = Entry { id: one.id.clone(), manifest: Loaded::Present(manifest), icon: Loaded::Missing };
        let alone = Registry {
            root: registry.root.clone(),
            entries: vec![entry],
            strays: Vec::new(),
            git_files: Vec::new(),
            quarantine: Loaded::Missing,
        };
        let selection = Selection { platform: Platform::host(), ..Selection::default() };
        tasks.extend(plan(&alone, &selection, None).into_iter().filter(|task| task.channel == one.channel));
    }
    let settings =
        Settings { allowed, limits: config.archive_limits.limits(), probes: true, use_cache: !args.no_cache };
    let rows = live::run(&args.live, settings, tasks.into(), &|_| (), ui)?.rows;
    let mut notes = Notes::new();
    for row in &rows {
        let Some(one) = bumped.iter_mut().find(|one| one.id == row.id && one.channel == row.channel) else { continue };
        let Ok(Outcome::Update(update)) = &mut one.result else { continue };
        let to = &update.to;
        if row.is_finding() {
            let message = row.message().unwrap_or_default();
            let message = format!("{to} ({}) does not pass the handshake: {message}", row.distribution());
            one.result = Err(ErrorKind::HandshakeFailed.because(message));
        } else if row.verdict() == Verdict::Skipped {
            update.reasons.push(format!(
                "{} was not started: {}",
                row.distribution(),
                row.message().unwrap_or_default()
            ));
        } else {
            let before = row.kind.and_then(|kind| earlier.as_ref()?.features(&row.id, row.channel, kind));
            notes.entry((row.id.clone(), row.channel)).or_default().push_str(&handshake_notes(row, before));
        }
    }
    Ok(notes)
}

/// Writes the updates, agent by agent. What cannot be written becomes an error of its agent.
fn write(registry: &Registry, bumped: &mut [Bumped]) {
    for of_agent in bumped.chunk_by_mut(|a, b| a.id == b.id) {
        let edits: Vec<Edit> = of_agent.iter().flat_map(updates).collect();
        if edits.is_empty() {
            continue;
        }
        let written = write_one(registry, &of_agent[0].id, &edits);
        if let Err(message) = written {
            for one in of_agent.iter_mut().filter(|one| updates(one).next().is_some()) {
                one.result = Err(ErrorKind::NotWritten.because(message.clone()));
            }
        }
    }
}

fn updates(bumped: &Bumped) -> impl Iterator<Item = Edit> {
    let update = match &bumped.result {
        Ok(Outcome::Update(update)) => Some(update),
        _ => None,
    };
    update.into_iter().flat_map(|update| update.edits.clone())
}

fn write_one(registry: &Registry, id: &str, edits: &[Edit]) -> Result<(), String> {
    let file = format!("{id}/agent.json");
    let path = registry.root.join(&file);
    let text = registry.text(&file).unwrap_or_default();
    // Between reading and now another program may have changed it.
    if read_bounded(&path, &registry.root, text.len() as u64).ok().as_deref() != Some(text.as_bytes()) {
        return Err(format!("{} has changed meanwhile; run again", path.display()));
    }
    write_atomic(&path, apply(text, edits).as_bytes()).map_err(|error| error.to_string())
}
