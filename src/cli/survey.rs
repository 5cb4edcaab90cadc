//! The network checks of `validate`.

use acp_registry::archive::Limits;
use acp_registry::check::Selection;
use acp_registry::manifest::Distribution;
use acp_registry::net::AllowedHosts;
use acp_registry::registry::{ArchiveLimits, Config, Registry};
use acp_registry::survey::{Scope, Survey, Surveyor};

use super::exit::Failure;
use super::network::{self, Needs};
use super::progress::Progress;
use super::signals;
use super::ui::Ui;

#[derive(Debug, clap::Args)]
pub(super) struct SurveyArgs {
    /// Check also that addresses answer and that packages have the versions named
    #[arg(long)]
    urls: bool,

    /// Fetch the archives of all platforms, and check what is in them
    #[arg(long)]
    archives: bool,

    /// Fetch everything anew, and keep nothing for the next run
    #[arg(long)]
    no_cache: bool,
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
    let scope = Scope { urls: args.urls, archives: args.archives.then(|| limits(&config.archive_limits)) };
    if scope == Scope::default() {
        return Ok(None);
    }
    let selected = registry.entries.iter().filter(|entry| selection.has_folder(&entry.id));
    let agents: Vec<_> = selected.filter_map(|entry| Some(entry.manifest.present()?.agent())).collect();
    let has = |is: fn(&Distribution) -> bool| {
        agents.iter().flat_map(|agent| agent.releases()).any(|release| is(release.distribution))
    };
    let needs = Needs {
        npm: args.urls && has(|distribution| distribution.npx.is_some()),
        pypi: args.urls && has(|distribution| distribution.uvx.is_some()),
    };
    let (client, sources, notes) = network::connect(allowed, needs, !args.no_cache, ui)?;
    let progress = Progress::new(ui);
    let mut survey = {
        let show = |event| progress.show(event);
        let surveyor = Surveyor { client: &client, sources: &sources, scope, progress: &show };
        signals::run_and_forget(surveyor.survey(agents))?
    };
    drop(progress);
    survey.notes = notes;
    Ok(Some(survey))
}

/// The limits of archives, as a registry sets them.
pub(super) fn limits(configured: &ArchiveLimits) -> Limits {
    let usual = Limits::default();
    Limits {
        compressed: configured.compressed.unwrap_or(usual.compressed),
        unpacked: configured.unpacked.unwrap_or(usual.unpacked),
        entries: configured.entries.unwrap_or(usual.entries),
        ratio: configured.ratio.unwrap_or(usual.ratio),
        ..usual
    }
}
