//! `acp-registry new`

pub(crate) mod text;

use acp_registry::check::CheckOptions;
use acp_registry::config::Config;
use acp_registry::examination::{Demand, Level};
use acp_registry::http::AllowedHosts;
use acp_registry::manifest::{Distribution, NpmSpec, Platform, PypiSpec};
use acp_registry::registry::Registry;
use acp_registry::scaffold::{self, Addition, Draft, GithubSpec, NewOrigin, PATIENCE, Scaffolder, Ways};
use acp_registry::text::{plural, quote};
use acp_registry::verify::{Attempts, Trying, Verifier, VerifyEvent};

use self::text::NewReport;
use crate::commands::verifier::{self, LiveArgs, Settings};
use crate::flags::global::{FormatArgs, Global, configured_levels};
use crate::flags::level::LevelName;
use crate::flags::network::{self, Needs};
use crate::flags::value;
use crate::terminal::progress::AgentsProgress;
use crate::terminal::signals;
use crate::terminal::ui::Ui;
use acp_registry::failure::{Exit, Failure};

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("source").required(true))]
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
    /// Several may be in one text, separated by spaces, and an empty text is for none. May be repeated. Without the
    /// flag, none, --acp, acp and --experimental-acp are tried.
    #[arg(long = "args", value_name = "ARGUMENTS", allow_hyphen_values = true)]
    arguments: Option<Vec<String>>,

    /// Examine the agent up to this level [default: handshake]
    ///
    /// Checks that it fails are among the steps that are left to do.
    #[arg(long, value_name = "LEVEL", conflicts_with = "no_check")]
    level: Option<LevelName>,

    /// Do not start the agent to see if it answers
    ///
    /// The manifest then has the arguments of --args, or none.
    #[arg(long, alias = "no-probe")]
    no_check: bool,

    /// Write nothing; show what would be written
    #[arg(long)]
    dry_run: bool,

    /// Use no cache, and leave nothing in one
    #[arg(long)]
    no_cache: bool,

    #[command(flatten)]
    pub(crate) format: FormatArgs,

    #[command(flatten)]
    live: LiveArgs,
}

pub(crate) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let config = global.config()?;
    let levels = configured_levels(&config, &global.config_file(&global.registry_dir()))?;
    let allowed = global.allowed_hosts()?;
    if args.live.is_set() && args.no_check {
        let failure = Failure::usage("--no-check starts nothing, and other flags are for starting agents");
        return Err(failure.help("leave out --no-check, or these flags"));
    }
    let registry = Registry::load(&global.registry_dir())?;
    let options =
        CheckOptions { levels: &levels, allowed_hosts: &allowed, config: &config, survey: None, advisories: None };
    // Checks the id and the directory before any request is sent.
    let mut addition = Addition::begin(&args.id, registry, options)?;
    let mut draft = ask(args, &config, &allowed, ui)?;
    addition.settle_name(&mut draft)?;
    let demand = Demand::new(args.level.map(Level::from), None).with_recipes(config.examine.recipes.clone());
    let settings =
        Settings { allowed: &allowed, config: &config, probes: false, use_cache: !args.no_cache, demand: &demand };
    let verifier = verifier::verifier(&args.live, settings, ui)?;
    signals::run(ui, draft.name_command(&verifier.installer, &verifier.handshake.temporary))??;
    let attempts = try_ways(args, verifier, &draft.agent.distribution, ui)?;
    let added = addition.end(draft, named(args), attempts, !args.dry_run)?;
    let report = NewReport {
        id: &args.id,
        registry: &global.registry_dir(),
        flags: &global.registry_flags(),
        added: &added,
        is_dry_run: args.dry_run,
    };
    let errors = added.proposal.errors.len();
    let failing = || Failure::findings(format!("the manifest has {}", plural(errors, "error")));
    let failure = (errors > 0).then(|| failing().help("correct them, as `left_to_do` says"));
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
    if !args.live.has_timeout() {
        verifier.handshake.timeout = PATIENCE;
    }
    let progress = AgentsProgress::new(ui, vec![args.id.clone()]);
    let trying = |what: Trying| match what {
        Trying::Installing => {
            ui.note(&format!("installing {}, to find out how it is started", quote(ways.name())));
            progress.show(VerifyEvent::Installing(0));
        }
        Trying::Starting => {
            ui.note(&format!("starting it with {}", text::ways(ways.lists())));
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
        verifier::run_with_agents(ui, 1, async { Ok(ways.attempt(&verifier, &args.id, &trying).await?) });
    progress.show(VerifyEvent::Done(0));
    progress.clear();
    let attempts = attempts?;
    if hidden > 0 {
        ui.warning(&format!("the agent had hidden processes, which were ended as well: {hidden}"));
    }
    if let Some(error) = &attempts.left {
        ui.warning(&format!("a temporary directory could not be removed; remove it by hand: {error}"));
    }
    Ok(Some(attempts))
}

/// The arguments that were given with `--args`.
fn named(args: &Args) -> Option<Vec<String>> {
    let texts = args.arguments.as_ref()?;
    Some(texts.iter().flat_map(|text| text.split_whitespace()).map(ToOwned::to_owned).collect())
}
