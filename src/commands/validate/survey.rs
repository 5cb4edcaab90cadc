//! The checks of `validate` that need the network or start agents.

use std::env;
use std::path::Path;

use acp_registry::advisories::Advisories;
use acp_registry::check::Selection;
use acp_registry::config::Config;
use acp_registry::examination::Demand;
use acp_registry::http::AllowedHosts;
use acp_registry::provenance::{self, TrustRoots};
use acp_registry::registry::Registry;
use acp_registry::select;
use acp_registry::survey::{self, Scope, Survey, Surveyor};
use acp_registry::verify::refuse_malicious;

use crate::commands::verifier;
use crate::commands::verify;
use crate::flags::network;
use crate::flags::verifier::{VerifierArgs, VerifierSettings};
use crate::terminal::progress::SurveyProgress;
use crate::terminal::signals;
use crate::terminal::ui::Ui;
use acp_registry::failure::Failure;

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct SurveyArgs {
    /// Check addresses, and versions of packages
    #[arg(long)]
    urls: bool,

    /// Fetch all archives, and check what is in them
    #[arg(long)]
    archives: bool,

    /// Install and start the agents, as `verify` does
    ///
    /// They must keep the requirements of the level that `registry.toml` requires. The flags for installing and starting
    /// agents need this one, or --all.
    #[arg(long)]
    handshake: bool,

    /// Short for `--urls --archives --handshake`
    #[arg(long)]
    all: bool,

    /// Use no cache, and leave nothing in one
    #[arg(long)]
    no_cache: bool,

    #[command(flatten)]
    verifier: VerifierArgs,
}

impl SurveyArgs {
    /// Whether agents are started.
    pub(crate) fn starts_agents(&self) -> bool {
        self.handshake || self.all
    }

    /// Whether archives are fetched.
    pub(crate) fn looks_into_archives(&self) -> bool {
        self.archives || self.all
    }
}

/// Gathers data about the selected agents from outside the registry, if a flag requests it, and reads the advisories that the
/// configuration names; those at addresses only if addresses are checked or agents are started.
pub(crate) fn run(
    args: &SurveyArgs,
    registry: &Registry,
    selection: &Selection,
    config: &Config,
    allowed: &AllowedHosts,
    ui: &Ui,
) -> Result<(Option<Survey>, Advisories), Failure> {
    let wants_handshake = args.starts_agents();
    if args.verifier.is_set() && !wants_handshake {
        return Err(Failure::usage(
            "--jobs, --timeout, --install-timeout, --sandbox, --network and --allow-build need --handshake or --all",
        ));
    }
    let limits = config.archive_limits.limits();
    let archives = args.looks_into_archives().then_some(limits);
    let scope = Scope { urls: args.urls || args.all, archives };
    if scope.is_empty() && !wants_handshake {
        return Ok((None, Advisories::read(config, &registry.root)));
    }
    let advisories = if scope.urls || wants_handshake {
        verifier::advisories((config, allowed), registry, !args.no_cache, ui)?
    } else {
        Advisories::read(config, &registry.root)
    };
    let mut survey = Survey::default();
    if !scope.is_empty() {
        let needs = scope.needs(registry, selection);
        let (client, sources, notes) = network::connect(allowed, needs, !args.no_cache, ui)?;
        let progress = SurveyProgress::new(ui);
        let show = |event| progress.show(event);
        let file = env::var_os(provenance::VARIABLE).filter(|path| !path.is_empty());
        let roots = match TrustRoots::open(file.as_deref().map(Path::new)) {
            Err(provenance::Error::NotBuilt) => None,
            roots => Some(roots?),
        };
        let surveyor = Surveyor { client: &client, sources: &sources, scope, roots: roots.as_ref(), progress: &show };
        survey = signals::run_and_forget(surveyor.survey_selected(registry, selection))?;
        survey.notes = notes;
    }
    if wants_handshake {
        let Some(mut tasks) = survey::tasks(registry, selection, config) else {
            let problem = select::quarantine_problem(registry).unwrap_or_default();
            let note = format!("no agent was started, because the quarantine list cannot be used: {problem}");
            survey.notes.push(note.clone());
            survey.lacks_quarantine = Some(note);
            return Ok((Some(survey), advisories));
        };
        if !advisories.problems.is_empty() {
            survey.notes.push("no agent was started, for not all advisories can be read".to_owned());
            return Ok((Some(survey), advisories));
        }
        refuse_malicious(&mut tasks, registry, &advisories);
        let examine = &config.examine;
        let demand =
            &Demand::new(None, examine.require).with_timeout(examine.timeout).with_recipes(examine.recipes.clone());
        let use_cache = !args.no_cache;
        let settings = VerifierSettings { allowed, config, probes: true, use_cache, demand };
        let finished = verify::steps(tasks.len(), ui);
        let verified = verifier::run(&args.verifier, settings, tasks.into(), &finished, ui)?;
        let withdrawn = survey::not_started(registry, selection, config);
        survey.notes.extend(withdrawn.clone());
        for note in withdrawn.into_iter().chain(survey.take_rows(verified.rows)) {
            ui.note(&note);
        }
    }
    Ok((Some(survey), advisories))
}
