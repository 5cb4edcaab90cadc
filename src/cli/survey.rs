//! The checks of `validate` that need more than the registry's own files.

use acp_registry::check::Selection;
use acp_registry::config::Config;
use acp_registry::manifest::{Distribution, Platform};
use acp_registry::net::AllowedHosts;
use acp_registry::registry::{Entry, Registry};
use acp_registry::select::knows_quarantine;
use acp_registry::survey::{Scope, Survey, Surveyor};
use acp_registry::text::quote;
use acp_registry::verify;

use super::exit::Failure;
use super::live::{self, LiveArgs, Settings};
use super::network::{self, Needs};
use super::progress::Progress;
use super::signals;
use super::ui::Ui;

/// How many agents a note names.
const SHOWN: usize = 10;

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(super) struct SurveyArgs {
    /// Check addresses, and versions of packages
    #[arg(long)]
    urls: bool,

    /// Fetch all archives, and check what is in them
    #[arg(long)]
    archives: bool,

    /// Install and start the agents, as `verify` does
    #[arg(long)]
    handshake: bool,

    /// Short for `--urls --archives --handshake`
    #[arg(long)]
    all: bool,

    /// Fetch everything again, and keep nothing
    #[arg(long)]
    no_cache: bool,

    #[command(flatten)]
    live: LiveArgs,
}

impl SurveyArgs {
    /// Whether archives are fetched.
    pub(super) fn looks_into_archives(&self) -> bool {
        self.archives || self.all
    }
}

/// Asks the world outside about the selected agents, if a flag wants that.
pub(super) fn run(
    args: &SurveyArgs,
    registry: &Registry,
    selection: &Selection,
    config: &Config,
    allowed: &AllowedHosts,
    ui: &Ui,
) -> Result<Option<Survey>, Failure> {
    let wants_handshake = args.handshake || args.all;
    if args.live.is_set() && !wants_handshake {
        return Err(Failure::usage(
            "--jobs, --timeout, --install-timeout, --sandbox and --allow-build need --handshake or --all",
        ));
    }
    let archives = args.looks_into_archives().then(|| config.archive_limits.limits());
    let scope = Scope { urls: args.urls || args.all, archives };
    let mut survey = match scope == Scope::default() {
        true if !wants_handshake => return Ok(None),
        true => Survey::default(),
        false => ask(scope, !args.no_cache, registry, selection, allowed, ui)?,
    };
    if wants_handshake {
        start(args, config, registry, selection, allowed, &mut survey, ui)?;
    }
    Ok(Some(survey))
}

/// Asks about addresses, packages and archives.
fn ask(
    scope: Scope,
    use_cache: bool,
    registry: &Registry,
    selection: &Selection,
    allowed: &AllowedHosts,
    ui: &Ui,
) -> Result<Survey, Failure> {
    let selected = registry.entries.iter().filter(|entry| selection.has_folder(&entry.id));
    let agents: Vec<_> = selected.filter_map(|entry| Some(entry.manifest.present()?.agent())).collect();
    let has = |is: fn(&Distribution) -> bool| {
        agents.iter().flat_map(|agent| agent.releases()).any(|release| is(release.distribution))
    };
    let needs = Needs {
        npm: scope.urls && has(|distribution| distribution.npx.is_some()),
        pypi: scope.urls && has(|distribution| distribution.uvx.is_some()),
    };
    let (client, sources, notes) = network::connect(allowed, needs, use_cache, ui)?;
    let progress = Progress::new(ui);
    let mut survey = {
        let show = |event| progress.show(event);
        let surveyor = Surveyor { client: &client, sources: &sources, scope, progress: &show };
        signals::run_and_forget(surveyor.survey(agents))?
    };
    drop(progress);
    survey.notes = notes;
    Ok(survey)
}

/// Installs and starts agents, and notes which ones it does not.
fn start(
    args: &SurveyArgs,
    config: &Config,
    registry: &Registry,
    selection: &Selection,
    allowed: &AllowedHosts,
    survey: &mut Survey,
    ui: &Ui,
) -> Result<(), Failure> {
    if !knows_quarantine(registry) {
        let note = "no agent was started, for quarantine.json cannot be read".to_owned();
        ui.warning(&note);
        survey.notes.push(note);
        return Ok(());
    }
    let is_selected = |entry: &&Entry| selection.has_folder(&entry.id) && !config.withdrawn.contains_key(&entry.id);
    let selected = registry.entries.iter().filter(is_selected);
    let wanted = verify::Selection {
        ids: Some(selected.map(|entry| entry.id.clone()).collect()),
        platform: Platform::host(),
        ..verify::Selection::default()
    };
    let tasks = verify::plan(registry, &wanted, None);
    let limits = config.archive_limits.limits();
    let finished = live::steps(tasks.len(), ui);
    let settings =
        Settings { allowed, limits, keep: None, probes: true, use_cache: !args.no_cache, finished: &finished };
    let rows = live::run(&args.live, settings, tasks, ui)?;
    survey.lacks_package_managers = live::lacks_package_managers(&rows);
    for (reason, why) in [("quarantined", "in quarantine"), ("unsupported_platform", "not made for this machine")] {
        let ids: Vec<String> =
            rows.iter().filter(|row| row.reason() == Some(reason)).map(|row| quote(&row.id)).collect();
        if !ids.is_empty() {
            let (count, more) = (ids.len(), if ids.len() > SHOWN { ", …" } else { "" });
            let ids = ids[..count.min(SHOWN)].join(", ");
            let note = format!("not started, for they are {why}: {count} ({ids}{more})");
            ui.note(&note);
            survey.notes.push(note);
        }
    }
    for row in rows {
        survey.agents.entry(row.id.clone()).or_default().push(row);
    }
    Ok(())
}
