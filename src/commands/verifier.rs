//! Installs and starts agents, for `verify`, `validate --handshake`, `new` and `bump`.

use std::sync::Arc;

use acp_registry::advisories::{Advisories, SourceProblem};
use acp_registry::closures::{ClosureChange, ClosureMaker};
use acp_registry::config::Config;
use acp_registry::failure::{Code, Failure};
use acp_registry::host::fs::temporary;
use acp_registry::http::{AllowedHosts, Client};
use acp_registry::manifest::{Manifest, PackageKind};
use acp_registry::ops::unremoved;
use acp_registry::registry::Registry;
use acp_registry::sources::Needs;
use acp_registry::verify::{Job, Row, Task, Verified};

use crate::commands::leftovers;
use crate::flags::network;
use crate::flags::verifier::{VerifierArgs, VerifierSettings};
use crate::terminal::progress::AgentsProgress;
use crate::terminal::signals;
use crate::terminal::ui::Ui;

/// Reads the advisories that the configuration names, and fetches those at addresses. `problems` of the result says which ones
/// could not be read.
pub(crate) fn advisories(
    (config, allowed): (&Config, &AllowedHosts),
    registry: &Registry,
    use_cache: bool,
    ui: &Ui,
) -> Result<Advisories, Failure> {
    let mut advisories = Advisories::read(config, &registry.root);
    if !advisories.unasked.is_empty() {
        let mut settings = network::settings(allowed)?;
        settings.cache = if use_cache { network::cache(ui) } else { None };
        let client = Client::new(settings);
        client.prepare()?;
        signals::run_and_forget(advisories.ask(&client))?;
    }
    Ok(advisories)
}

/// Like [`advisories`], for a run that may not begin unless all of them could be read.
pub(crate) fn all_advisories(
    settings: (&Config, &AllowedHosts),
    registry: &Registry,
    use_cache: bool,
    ui: &Ui,
) -> Result<Advisories, Failure> {
    let advisories = advisories(settings, registry, use_cache, ui)?;
    match advisories.problems.first() {
        Some(problem) => Err(Failure::unable(problem).help(SourceProblem::REMEDY)),
        None => Ok(advisories),
    }
}

/// The failure of a run whose agents all need package managers that this machine lacks.
pub(crate) fn missing_package_managers() -> Failure {
    let failure = Failure::unable("nothing could be installed: the package managers are missing");
    failure
        .code(Code::MissingRuntime)
        .help("install Node.js with npm, or uv; the message of each agent names what it needs")
}

/// Runs a job with a progress display. Warns about temporary directories that could not be removed, and about processes
/// that had left their tree. `finished` is called with each row as soon as it is complete.
pub(crate) fn run(
    args: &VerifierArgs,
    settings: VerifierSettings<'_>,
    job: Job,
    finished: &dyn Fn(&Row),
    ui: &Ui,
) -> Result<Verified, Failure> {
    leftovers::clear(ui);
    let verifier = args.verifier(settings, ui)?;
    let progress = Arc::new(AgentsProgress::new(ui, job.tasks().iter().map(Task::name).collect()));
    let jobs = args.jobs();
    ui.detail(&format!("{} to check, {jobs} at once", job.tasks().len()));
    let shown = progress.clone();
    let (result, hidden) = leftovers::run_with_agents(ui, jobs, true, async {
        Ok(job.run(verifier, jobs, Arc::new(move |event| shown.show(event)), finished).await?)
    });
    progress.clear();
    let result = result?;
    for error in result.rows.iter().filter_map(|row| row.left.as_ref()) {
        ui.warning(&unremoved(error));
    }
    let unwatched: Vec<&String> = result.rows.iter().filter_map(|row| row.unwatched.as_ref()).collect();
    if let Some(cause) = unwatched.first() {
        ui.warning(&format!(
            "for some agents, it is not known whether they look for secrets: {} ({cause})",
            unwatched.len()
        ));
    }
    if hidden > 0 {
        ui.warning(&format!("agents had hidden processes, which were ended as well: {hidden}"));
    }
    let left = result.rows.iter().filter_map(Row::examination).flat_map(|examination| &examination.left);
    for error in left {
        ui.warning(&unremoved(error));
    }
    Ok(result)
}

/// Makes the closures of these agents that the registry lacks.
pub(crate) fn make_closures(
    args: &VerifierArgs,
    settings: VerifierSettings<'_>,
    (registry, advisories): (&Registry, &Advisories),
    agents: &[(&str, &Manifest)],
    ui: &Ui,
) -> Result<Vec<ClosureChange>, Failure> {
    let max_days_newer = settings.config.closures.max_days_newer;
    let npm = agents.iter().any(|(_, manifest)| manifest.has_package(PackageKind::Npx));
    let (client, sources, _) = network::connect(settings.allowed, Needs { npm, pypi: false }, settings.use_cache, ui)?;
    let installer = args.verifier(settings, ui)?.installer;
    let maker = ClosureMaker {
        registry,
        installer: &installer,
        client: &client,
        sources: &sources,
        advisories,
        max_days_newer,
        temporary: &temporary(),
    };
    signals::run(ui, maker.make(agents, false))
}

/// Writes closures into the registry. Says of each what it has, or why it was not written.
pub(crate) fn write_closures(changes: &mut [ClosureChange], registry: &Registry, ui: &Ui) {
    for change in changes {
        change.write(registry);
        match &change.done {
            Ok(made) => ui.note(&format!("{} has {}", change.file, made.diff)),
            Err(error) => ui.warning(&format!("{} was not written: {error}", change.file)),
        }
    }
}
