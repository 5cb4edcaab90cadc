//! `acp-registry new`

use std::path::Path;
use std::time::SystemTime;

use acp_registry::check::CheckOptions;
use acp_registry::closures::{ClosureChange, ClosureError};
use acp_registry::config::Config;
use acp_registry::examination::{Demand, Level};
use acp_registry::failure::{Exit, Failure};
use acp_registry::handshake::Verdict;
use acp_registry::http::AllowedHosts;
use acp_registry::manifest::{Distribution, NpmSpec, Platform, PypiSpec};
use acp_registry::ops::unremoved;
use acp_registry::registry::Registry;
use acp_registry::scaffold::{
    self, Added, Addition, Draft, FILES, GithubSpec, NewOrigin, PATIENCE, Scaffolder, Todo, Ways,
};
use acp_registry::select::AgentFilter;
use acp_registry::text::{plural, printable, quote};
use acp_registry::verify::{Attempts, Job, NewClosures, StartAttempt, Trying, Verifier, VerifyEvent, VerifyRequest};
use serde_json::{Value, json};

use crate::commands::{leftovers, verifier};
use crate::documents::Document;
use crate::flags::global::{FormatArgs, Global, configured_levels};
use crate::flags::network::{self, Needs};
use crate::flags::verifier::{VerifierArgs, VerifierSettings};
use crate::flags::{level, value};
use crate::formats::examination::examination;
use crate::terminal::layout::Look;
use crate::terminal::progress::AgentsProgress;
use crate::terminal::ui::Ui;
use crate::terminal::{remedy, signals};

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("source").required(true))]
// Each of several ways to start the agent is tried.
#[command(mut_arg("timeout", |flag| flag.help("Time limit for the answer to `initialize` [default: 30s]")))]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Args {
    /// The new agent's id, and the name of its folder
    #[arg(value_name = "ID")]
    id: String,

    /// The npm package [default version: the newest]
    #[arg(long, value_name = "PACKAGE[@VERSION]", group = "source", value_parser = value::npm)]
    npm: Option<NpmSpec>,

    /// The Python package [default version: the newest]
    #[arg(long, value_name = "PACKAGE[==VERSION]", group = "source", value_parser = value::pypi)]
    pypi: Option<PypiSpec>,

    /// The GitHub repository [default tag: the newest release]
    ///
    /// Its releases have archives of the agent.
    #[arg(long, value_name = "OWNER/REPO[@TAG]", group = "source", value_parser = value::github)]
    github: Option<GithubSpec>,

    /// The command of the package, or the program in the archives
    ///
    /// Needed where there are several.
    #[arg(long, value_name = "NAME")]
    cmd: Option<String>,

    /// The arguments that start it as an agent
    ///
    /// Separate several with spaces, or repeat the flag; an empty text means no arguments. Without the flag, no arguments,
    /// --acp, acp and --experimental-acp are tried.
    #[arg(long = "args", value_name = "ARGUMENTS", allow_hyphen_values = true)]
    arguments: Option<Vec<String>>,

    /// Examine the agent up to this level [default: handshake]
    ///
    /// Checks that it fails are among the steps that are left to do.
    #[arg(long, value_name = "LEVEL", value_parser = level::level(), conflicts_with = "no_check")]
    level: Option<Level>,

    /// Also write `package-lock.json` or `requirements.txt`, the list of all packages that it needs, made by npm or uv
    ///
    /// Clients install exactly what it names.
    #[arg(long, conflicts_with_all = ["no_check", "dry_run"])]
    closures: bool,

    /// Change nothing; show what would be written
    #[arg(long)]
    dry_run: bool,

    /// Do not start the agent to see if it answers
    ///
    /// The manifest then has the arguments of --args, or none.
    #[arg(long, alias = "no-probe")]
    no_check: bool,

    /// Use no cache, and leave nothing in one
    #[arg(long)]
    no_cache: bool,

    #[command(flatten)]
    pub(crate) format: FormatArgs,

    #[command(flatten)]
    verifier: VerifierArgs,
}

pub(crate) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let config = global.config()?;
    let levels = configured_levels(&config, &global.config_file(&global.registry_dir()))?;
    let allowed = global.allowed_hosts()?;
    if args.verifier.is_set() && args.no_check {
        let failure = Failure::usage("--no-check starts nothing, and other flags are for starting agents");
        return Err(failure.help("leave out --no-check, or these flags"));
    }
    let level = args.level.map(|level| level::refuse_transport(level, false)).transpose()?;
    let registry = Registry::load(&global.registry_dir())?;
    let options =
        CheckOptions { levels: &levels, allowed_hosts: &allowed, config: &config, survey: None, advisories: None };
    // Checks the id and the directory before any request is sent.
    let mut addition = Addition::begin(&args.id, registry, options)?;
    let mut draft = ask(args, &config, &allowed, ui)?;
    addition.settle_name(&mut draft)?;
    let demand = Demand::new(level, None).with_recipes(config.examine.recipes.clone());
    let settings = VerifierSettings {
        allowed: &allowed,
        config: &config,
        probes: false,
        use_cache: !args.no_cache,
        demand: &demand,
    };
    let verifier = args.verifier.verifier(settings, ui)?;
    signals::run(ui, draft.name_command(&verifier.installer, &verifier.handshake.temporary))??;
    let attempts = try_ways(args, verifier, &draft.agent.distribution, ui)?;
    let added = addition.end(draft, named(args), attempts, !args.dry_run)?;
    let lists =
        if args.closures { write_closures(args, settings, (&global.registry_dir(), &added), ui)? } else { Vec::new() };
    let report = NewReport {
        id: &args.id,
        registry: &global.registry_dir(),
        added: &added,
        lists: lists.iter().filter(|list| list.done.is_ok()).map(|list| list.file.as_str()).collect(),
        is_dry_run: args.dry_run,
    };
    let errors = added.proposal.errors.len();
    let failing = || Failure::findings(format!("the manifest has {}", plural(errors, "error")));
    let failure = (errors > 0).then(|| failing().help("correct them, as `left_to_do` says"));
    let unlisted = lists.iter().find_map(|list| list.done.as_ref().err());
    let failure = failure.or_else(|| Some(unlisted?.failure("the list of its packages")));
    let exit = failure.as_ref().map_or(Exit::Success, Failure::exit);
    ui.result(&if args.format.is_json() {
        report.document().failed(failure).to_text()
    } else {
        report.human(ui.look())
    })?;
    Ok(exit)
}

/// Gets the metadata of the agent from its source.
fn ask(args: &Args, config: &Config, allowed: &AllowedHosts, ui: &Ui) -> Result<Draft, Failure> {
    let origin = match (&args.npm, &args.pypi, &args.github) {
        (Some(spec), ..) => NewOrigin::Npm(spec.clone()),
        (_, Some(spec), _) => NewOrigin::Pypi(spec.clone()),
        (.., Some(spec)) => NewOrigin::Github(spec.clone()),
        _ => return Err(Failure::usage("--npm, --pypi or --github is wanted")),
    };
    let needs = Needs { npm: matches!(origin, NewOrigin::Npm(_)), pypi: matches!(origin, NewOrigin::Pypi(_)) };
    let (client, sources, _) = network::connect(allowed, needs, !args.no_cache, ui)?;
    let limits = config.archive_limits.limits();
    let scaffolder = Scaffolder { client: &client, sources: &sources, limits, command: args.cmd.as_deref() };
    if args.github.is_some() {
        ui.note("asking GitHub for the release; its archives are then fetched, to see which programs they hold");
    }
    signals::run_and_forget(scaffolder.draft(&args.id, &origin))?.map_err(|error| {
        let remedy = match &error {
            scaffold::Error::Source(error) => error.remedy(&sources.github),
            _ => None,
        };
        Failure::from(error).help_if(remedy)
    })
}

/// Installs the agent in a temporary directory, and finds the arguments that start it.
fn try_ways(
    args: &Args,
    mut verifier: Verifier,
    distribution: &Distribution,
    ui: &Ui,
) -> Result<Option<Attempts>, Failure> {
    if args.no_check {
        return Ok(None);
    }
    let Some(ways) = Ways::of(distribution, Platform::host(), named(args).as_deref()) else {
        return Ok(Some(Attempts::impossible()));
    };
    if args.verifier.timeout.is_none() {
        verifier.handshake.timeout = PATIENCE;
    }
    let progress = AgentsProgress::new(ui, vec![args.id.clone()]);
    let trying = |what: Trying| match what {
        Trying::Installing => {
            ui.note(&format!("installing {}, to find out how it is started", quote(ways.source.name())));
            progress.show(VerifyEvent::Installing(0));
        }
        Trying::Starting => {
            ui.note(&format!("starting it with {}", ways_phrase(&ways.lists)));
            progress.show(VerifyEvent::Checking(0));
        }
        Trying::Ended { count, of } => ui.note(&format!("{count} of {of} tried")),
        Trying::Examining { done, of } => {
            if done == 0 {
                ui.note("examining it");
            }
            progress.show(VerifyEvent::Examining(0, done, of));
        }
    };
    let (attempts, hidden) =
        leftovers::run_with_agents(ui, 1, true, async { Ok(ways.attempt(&verifier, &args.id, &trying).await?) });
    progress.show(VerifyEvent::Done(0));
    progress.clear();
    let attempts = attempts?;
    if hidden > 0 {
        ui.warning(&format!("the agent had hidden processes, which were ended as well: {hidden}"));
    }
    if let Some(error) = &attempts.left {
        ui.warning(&unremoved(error));
    }
    Ok(Some(attempts))
}

/// Writes the closures of the agent, if it was seen to start.
fn write_closures(
    args: &Args,
    settings: VerifierSettings<'_>,
    (directory, added): (&Path, &Added),
    ui: &Ui,
) -> Result<Vec<ClosureChange>, Failure> {
    if added.attempts.as_ref().and_then(Attempts::best).is_none() {
        ui.warning("the list of its packages was not written: the agent was not seen to start");
        return Ok(Vec::new());
    }
    let registry = Registry::load(directory)?;
    let advisories = verifier::all_advisories((settings.config, settings.allowed), &registry, settings.use_cache, ui)?;
    let folder = registry.entries.iter().find(|folder| folder.id == args.id);
    let agents: Vec<_> = folder.and_then(|one| Some((one.id.as_str(), one.manifest.present()?))).into_iter().collect();
    let mut changes = verifier::make_closures(&args.verifier, settings, (&registry, &advisories), &agents, ui)?;
    refuse_failing(args, settings, &registry, &mut changes, ui)?;
    verifier::write_closures(&mut changes, &registry, ui);
    Ok(changes)
}

/// Refuses the closures with which the agent does not pass, as `verify` does: people will get what they name.
fn refuse_failing(
    args: &Args,
    settings: VerifierSettings<'_>,
    registry: &Registry,
    changes: &mut [ClosureChange],
    ui: &Ui,
) -> Result<(), Failure> {
    let closures: NewClosures = changes.iter().filter_map(ClosureChange::published).collect();
    if closures.is_empty() {
        return Ok(());
    }
    let agents = AgentFilter::new([args.id.clone()], None);
    let job =
        Job::prepare(registry, &VerifyRequest { agents, closures, ..VerifyRequest::default() }, SystemTime::now())?;
    ui.note("starting it with what the list names");
    let settings = VerifierSettings { demand: &Demand::default(), ..settings };
    let verified = verifier::run(&args.verifier, settings, job, &|_| {}, ui)?;
    if let Some(row) = verified.rows.iter().find(|row| row.is_finding()) {
        for change in changes.iter_mut().filter(|change| change.done.is_ok()) {
            change.done = Err(ClosureError::Fails(row.message().unwrap_or_default().to_owned()));
        }
    }
    Ok(())
}

/// The arguments that were given with `--args`.
fn named(args: &Args) -> Option<Vec<String>> {
    let texts = args.arguments.as_ref()?;
    Some(texts.iter().flat_map(|text| text.split_whitespace()).map(ToOwned::to_owned).collect())
}

/// The result of `new`.
#[derive(Debug)]
pub(crate) struct NewReport<'a> {
    /// The id of the agent.
    pub(crate) id: &'a str,
    /// Path of the registry directory, relative to the working directory.
    pub(crate) registry: &'a Path,
    /// The new agent, and what was learnt about it.
    pub(crate) added: &'a Added,
    /// The lists of its packages that were written, relative to the registry.
    pub(crate) lists: Vec<&'a str>,
    /// Whether this was a dry run.
    pub(crate) is_dry_run: bool,
}

/// How the attempts to start the agent ended.
fn probe(attempts: &Attempts) -> Value {
    let best = attempts.best();
    let tried = attempts.tried.iter().map(|StartAttempt { arguments, outcome, .. }| {
        json!({
            "args": arguments,
            "verdict": outcome.verdict,
            "reason": outcome.reason,
            "message": outcome.message,
        })
    });
    let not_started = attempts.not_started.as_ref();
    let mut members = json!({
        "verdict": best.map(|attempt| attempt.outcome.verdict),
        "args": best.map(|attempt| &attempt.arguments),
        "tried": tried.collect::<Value>(),
        "not_started": not_started.map(|(reason, message)| json!({ "reason": reason, "message": message })),
    });
    if let Some(examination) = best.and_then(|attempt| attempt.examination.as_deref()) {
        members["examination"] = json!(examination);
    }
    members
}

impl NewReport<'_> {
    /// Returns the JSON document.
    pub(crate) fn document(&self) -> Document<'_, Value> {
        let Added { draft, attempts, proposal, .. } = self.added;
        let errors = proposal
            .errors
            .iter()
            .map(|finding| json!({ "rule": finding.rule, "pointer": finding.pointer, "message": finding.message }));
        let members = json!({
            "id": self.id,
            "version": draft.agent.version,
            "dry_run": self.is_dry_run,
            "files": self.files(Path::new(".")),
            "manifest": proposal.manifest,
            "probe": attempts.as_ref().map(probe),
            "errors": errors.collect::<Value>(),
            "left_to_do": self.left(),
        });
        Document::new("new", members)
    }

    /// Describes what was written, how the agent starts, and the remaining steps. In a dry run, it includes the manifest.
    pub(crate) fn human(&self, look: Look) -> String {
        let Added { draft, attempts, proposal, .. } = self.added;
        let distribution = &draft.agent.distribution;
        let packages =
            distribution.packages().map(|(kind, package)| format!("{} {}", kind.as_str(), quote(&package.package)));
        let platforms: Vec<&str> = distribution.binary.iter().map(|target| target.platform.as_str()).collect();
        let binary = (!platforms.is_empty()).then(|| format!("binary for {}", platforms.join(", ")));
        let ways: Vec<String> = packages.chain(binary).collect();
        let start = match attempts.as_ref().and_then(Attempts::best) {
            Some(attempt) => format!("started with {}: {}", arguments(&attempt.arguments), answer(attempt)),
            None => "not seen to start".to_owned(),
        };
        let files = self.files(self.registry).join(" and ");
        let head = [
            format!("{} {files}", if self.is_dry_run { "would write" } else { "wrote" }),
            format!("  {} {}: {}", draft.agent.name, draft.agent.version, ways.join("; ")),
            format!("  {start}"),
        ];
        let mut text: String = head.iter().map(|line| look.wrap(line, 4)).collect();
        let examined = attempts.as_ref().and_then(Attempts::best).and_then(|attempt| attempt.examination.as_deref());
        text.extend(examined.map(|examined| examination(examined, look)));
        text.push_str("\nleft to do:\n");
        for (at, item) in (1..).zip(self.left()) {
            text.push_str(&look.wrap(&format!("{at:>3}. {}", printable(&item)), 5));
        }
        if self.is_dry_run {
            let manifest = proposal.manifest_text.lines().map(|line| format!("{}\n", printable(line)));
            text.push('\n');
            text.extend(manifest);
        }
        text
    }

    /// The files of the agent, below the path of the registry.
    fn files(&self, registry: &Path) -> Vec<String> {
        let own = FILES.map(|name| shown_path(registry, &format!("{}/{name}", self.id)));
        own.into_iter().chain(self.lists.iter().map(|file| shown_path(registry, file))).collect()
    }

    /// The remaining steps, one sentence each.
    fn left(&self) -> Vec<String> {
        let mut left: Vec<String> = self.added.left.iter().map(sentence).collect();
        let icon = shown_path(self.registry, &format!("{}/icon.svg", self.id));
        left.push(format!("draw `{icon}`, which is the initial letter now: 16×16, with currentColor"));
        left.push(format!("run `acp-registry validate {} --all`: a pull request must pass the same checks", self.id));
        left.iter().map(|step| remedy::complete(step)).collect()
    }
}

/// Joins several lists of arguments into one phrase.
fn ways_phrase(lists: &[Vec<String>]) -> String {
    let shown: Vec<String> = lists.iter().map(|list| arguments(list)).collect();
    match shown.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => shown.join(", "),
    }
}

fn arguments(arguments: &[String]) -> String {
    if arguments.is_empty() { "no arguments".to_owned() } else { quote(&arguments.join(" ")) }
}

fn sentence(todo: &Todo) -> String {
    match todo {
        Todo::Note(text) => text.clone(),
        Todo::Withdrawn(id) => format!(
            "remove {} below `[withdrawn]` in `registry.toml`: agents that it names are not published",
            quote(id)
        ),
        Todo::SamePackage(id) => format!("look at {}, which is the same package already in the registry", quote(id)),
        Todo::SimilarId(id) => format!("look at {}, whose id is much alike: people must tell the two apart", quote(id)),
        Todo::SeeWhetherItAnswers => {
            "see whether it answers: `acp-registry verify` starts it as the manifest says".to_owned()
        }
        Todo::AddArguments => "add `args`, if it wants any to be started as an agent: nothing was tried".to_owned(),
        Todo::NotStarted(message) => format!("find out why it could not be started here: {message}"),
        Todo::SignIn { arguments: list, message } => {
            format!("let people sign in: with {} it answers, but {message}", arguments(list))
        }
        Todo::SayArguments(causes) => {
            let causes =
                causes.iter().map(|cause| format!("with {}, {}", ways_phrase(&cause.arguments), cause.message));
            format!("say how it is started, in `args`: {}", causes.collect::<Vec<_>>().join("; "))
        }
        Todo::PassCheck { check, message } => {
            format!("pass the check {check}, which `acp-registry explain {check}` describes: {message}")
        }
        Todo::Correct { rule, message } => format!("correct it, as {rule} requires: {message}"),
    }
}

/// Path of a file of the registry, relative to the working directory.
fn shown_path(registry: &Path, file: &str) -> String {
    let path = if registry == Path::new(".") { file.into() } else { registry.join(file) };
    path.display().to_string().replace('\\', "/")
}

fn answer(attempt: &StartAttempt) -> String {
    let methods = &attempt.outcome.handshake.auth_methods;
    let methods: Vec<String> =
        methods.iter().take(5).map(|method| format!("{} ({})", quote(&method.id), quote(&method.kind))).collect();
    match attempt.outcome.verdict {
        Verdict::Pass => format!("it answers, and people sign in by {}", methods.join(", ")),
        _ => "it answers, but people cannot sign in".to_owned(),
    }
}
