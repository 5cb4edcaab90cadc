//! `acp-registry validate`

use std::collections::BTreeSet;
use std::env;
use std::path::Path;
use std::time::Instant;

use acp_registry::advisories::{Advisories, SourceProblem};
use acp_registry::check::{CheckOptions, Checked, Levels, check, fix};
use acp_registry::config::Config;
use acp_registry::examination::Demand;
use acp_registry::failure::{Exit, Failure};
use acp_registry::finding::Level;
use acp_registry::host::fs::temporary;
use acp_registry::http::AllowedHosts;
use acp_registry::provenance::{self, TrustRoots};
use acp_registry::registry::Registry;
use acp_registry::select::{self, AgentFilter, Selection};
use acp_registry::survey::{self, Scope, Survey, Surveyor};
use acp_registry::text::{plural, quote};
use acp_registry::verify::refuse_malicious;
use clap::ArgMatches;

use crate::commands::{verifier, verify};
use crate::flags::global::{Global, configured_levels, prefix};
use crate::flags::report::ReportArgs;
use crate::flags::verifier::{VerifierArgs, VerifierSettings};
use crate::flags::{candidates, network};
use crate::formats::Report;
use crate::terminal::layout::Look;
use crate::terminal::progress::SurveyProgress;
use crate::terminal::signals;
use crate::terminal::ui::Ui;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Agents to check [default: all]
    #[arg(value_name = "ID", add = candidates::checked_out())]
    ids: Vec<String>,

    /// Check only agents that differ from a git revision
    #[arg(long, value_name = "REF", conflicts_with = "ids")]
    changed_since: Option<String>,

    /// Report a rule as an error (repeatable)
    ///
    /// `icon/*` names a group, `warnings` all warnings.
    #[arg(long, visible_alias = "deny", value_name = "RULE", add = candidates::rules())]
    error: Vec<String>,

    /// Report a rule as a warning (repeatable)
    #[arg(long, visible_alias = "warn", value_name = "RULE", add = candidates::rules())]
    warning: Vec<String>,

    /// Switch a rule off (repeatable)
    #[arg(long, visible_alias = "allow", value_name = "RULE", add = candidates::rules())]
    off: Vec<String>,

    /// Write digests that `--archives` finds missing
    #[arg(long)]
    fix: bool,

    #[command(flatten)]
    survey: SurveyArgs,

    #[command(flatten)]
    pub(crate) report: ReportArgs,

    #[command(flatten)]
    verifier: VerifierArgs,
}

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
struct SurveyArgs {
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
}

impl SurveyArgs {
    /// Whether agents are started.
    fn starts_agents(&self) -> bool {
        self.handshake || self.all
    }

    /// Whether archives are fetched.
    fn looks_into_archives(&self) -> bool {
        self.archives || self.all
    }
}

/// The help if no host could be reached.
const OFFLINE: &str = "try again with a network, or name its proxy in HTTPS_PROXY; without --urls, --archives, --handshake and \
                       --all, none is needed";

/// What to do about findings.
const CORRECT: &str = "correct them; `acp-registry explain RULE` describes each rule";

pub(crate) fn run(args: &Args, matches: &ArgMatches, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let started = Instant::now();
    let files = args.report.files(None)?;
    let config = global.config()?;
    let allowed_hosts = global.allowed_hosts()?;
    let mut levels = configured_levels(&config, &global.config_file(&global.registry_dir()))?;
    set_levels(&mut levels, matches)?;

    let directory = global.registry_dir();
    let registry = select::load(&directory)?;
    let selection = agents(args, &directory)?.select(&registry)?;
    // Findings about the quarantine list are only reported for the whole registry.
    if !args.survey.starts_agents()
        && let (Selection::Agents(_), Some(problem)) = (&selection, select::quarantine_problem(&registry))
    {
        ui.warning(&format!("the quarantine list cannot be used: {problem}"));
    }
    if registry.entries.is_empty() && registry.strays.is_empty() {
        ui.note(select::NO_AGENTS);
    }
    ui.detail(&format!("checking {} in {}", registry.entries.len(), registry.root.display()));
    let (survey, advisories) =
        survey((&args.survey, &args.verifier), &registry, &selection, &config, &allowed_hosts, ui)?;
    let options = CheckOptions {
        levels: &levels,
        allowed_hosts: &allowed_hosts,
        config: &config,
        survey: survey.as_ref(),
        advisories: Some(&advisories),
    };
    let mut unfixed = Vec::new();
    let mut checked = check(&registry, &options, &selection);
    if args.fix {
        let fixed = fix(&registry, &mut checked);
        if fixed.count == 0 && !args.survey.looks_into_archives() {
            ui.warning(
                "--fix has written nothing: it writes digests, which only --archives finds missing; add --archives",
            );
        } else {
            ui.note(&format!("{} fixed", plural(fixed.count, "finding")));
        }
        unfixed.extend(fixed.errors.iter().map(Failure::unable));
    }
    // For the whole registry, this is a finding.
    if !matches!(selection, Selection::All) {
        let problem = advisories.problems.first();
        unfixed.extend(problem.map(|problem| Failure::unable(problem).help(SourceProblem::REMEDY)));
    }

    let prefix = prefix(&registry.root);
    let text = |file: &str| registry.text(file);
    let duration = started.elapsed();
    let failures = failures(survey.as_ref(), &checked, unfixed);
    let errors = checked.count(Level::Error);
    let findings = || Failure::findings(format!("the registry has {}", plural(errors, "error"))).help(CORRECT);
    let failure = failures.first().cloned().or_else(|| (errors > 0).then(findings));
    let mut report =
        Report { checked: &checked, duration, text: &text, prefix: &prefix, look: Look::default(), failure };
    files.write(ui, &mut |format, look| {
        report.look = look;
        report.render(format)
    })?;
    for failure in &failures {
        ui.failure(failure);
    }
    let exit = if !failures.is_empty() {
        Exit::Unable
    } else if errors > 0 {
        Exit::Findings
    } else {
        Exit::Success
    };
    // The process is about to exit: freeing a large registry would take a tenth of the run time.
    std::mem::forget(registry);
    Ok(exit)
}

/// Gathers data about the selected agents from outside the registry, if a flag requests it, and reads the advisories that the
/// configuration names; those at addresses only if addresses are checked or agents are started.
fn survey(
    (args, starting): (&SurveyArgs, &VerifierArgs),
    registry: &Registry,
    selection: &Selection,
    config: &Config,
    allowed: &AllowedHosts,
    ui: &Ui,
) -> Result<(Option<Survey>, Advisories), Failure> {
    let wants_handshake = args.starts_agents();
    if starting.is_set() && !wants_handshake {
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
        survey = signals::run_and_forget(surveyor.survey(survey::selected(registry, selection)))?;
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
        let verified = verifier::run(starting, settings, tasks.into(), &finished, ui)?;
        let withdrawn = survey::not_started(registry, selection, config);
        survey.notes.extend(withdrawn.clone());
        for note in withdrawn.into_iter().chain(survey.take_rows(verified.rows)) {
            ui.note(&note);
        }
    }
    Ok((Some(survey), advisories))
}

/// What could not be done.
fn failures(survey: Option<&Survey>, checked: &Checked, unfixed: Vec<Failure>) -> Vec<Failure> {
    let mut failures = unfixed;
    let Some(survey) = survey else { return failures };
    let place = temporary().display().to_string();
    let troubles = survey.troubles.iter().take(10);
    failures.extend(troubles.map(|trouble| Failure::unable(format!("{trouble} (temporary files are in {place})"))));
    if !failures.is_empty() {
        return failures;
    }
    if survey.is_cut_off {
        failures.push(
            Failure::unable("no host could be reached: nothing is known of addresses and packages").help(OFFLINE),
        );
    } else if survey.lacks_package_managers {
        failures.push(verifier::missing_package_managers());
    } else if let Some(problem) = &survey.lacks_quarantine
        // For the whole registry, this is a finding.
        && checked.count(Level::Error) == 0
    {
        failures.push(Failure::unable(problem));
    }
    failures
}

/// Applies the flags in the order in which they were given: the last one wins.
fn set_levels(levels: &mut Levels, matches: &ArgMatches) -> Result<(), Failure> {
    let mut flags = Vec::new();
    for (name, level) in [("error", Level::Error), ("warning", Level::Warning), ("off", Level::Off)] {
        let rules = matches.get_many::<String>(name).unwrap_or_default();
        flags.extend(matches.indices_of(name).unwrap_or_default().zip(rules).map(|(at, rule)| (at, level, rule)));
    }
    flags.sort_by_key(|(at, ..)| *at);
    for (_, level, rule) in flags {
        levels.set(rule, level)?;
    }
    Ok(())
}

/// The agents that the arguments name.
fn agents(args: &Args, registry: &Path) -> Result<AgentFilter, Failure> {
    // Shells complete paths: `registry/someagent/` and `someagent/agent.json` mean `someagent`.
    let name = |text: &String| {
        let path = text.trim_end_matches('/');
        let folder = path.strip_suffix("/agent.json").or_else(|| path.strip_suffix("/icon.svg")).unwrap_or(path);
        let (above, name) = folder.rsplit_once('/').unwrap_or((".", folder));
        // The folder may be a link, and what is above it may be the registry.
        let is_elsewhere = || {
            let parent = if above.is_empty() { "/" } else { above };
            let is_other = Path::new(parent).canonicalize().ok() != registry.canonicalize().ok();
            is_other && (Path::new(folder).is_absolute() || Path::new(folder).exists())
        };
        if text.contains('/') && is_elsewhere() {
            let message = format!("{} is not in the registry {}", quote(text), quote(&registry.display().to_string()));
            return Err(
                Failure::usage(message).help("name an agent of this registry, or the other one with --registry-dir")
            );
        }
        Ok(name.to_owned())
    };
    let ids: BTreeSet<String> = args.ids.iter().map(name).collect::<Result<_, _>>()?;
    Ok(AgentFilter::new(ids, args.changed_since.clone()))
}
