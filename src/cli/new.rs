//! `acp-registry new`

use std::path::Path;
use std::time::Duration;

use acp_registry::check::Options;
use acp_registry::config::Config;
use acp_registry::handshake::Verdict;
use acp_registry::install::{Kind, Source};
use acp_registry::manifest::{Distribution, NpmSpec, Platform, PypiSpec};
use acp_registry::net::AllowedHosts;
use acp_registry::registry::Registry;
use acp_registry::report::Look;
use acp_registry::scaffold::{self, Draft, GithubSpec, Origin, Proposal, Scaffolder};
use acp_registry::text::quote;
use acp_registry::verify::{Attempt, Attempts, Trying};
use serde_json::{Value, json};

use super::exit::{Exit, Failure};
use super::global::{FormatArgs, Global, configured_levels};
use super::live::{self, LiveArgs, Settings};
use super::network::{self, Needs};
use super::signals;
use super::todo;
use super::ui::Ui;

/// The ways in which agents are started as agents, in the order in which they are tried.
const WAYS: [&[&str]; 4] = [&[], &["--acp"], &["acp"], &["--experimental-acp"]];

/// How long each way may take to be answered by default.
const PATIENCE: Duration = Duration::from_secs(30);

/// The names of the files that are written.
const NAMES: [&str; 2] = ["agent.json", "icon.svg"];

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("source").required(true))]
pub(super) struct Args {
    /// The new agent's id, and the name of its folder
    #[arg(value_name = "ID")]
    id: String,

    /// The npm package [default version: the newest]
    #[arg(long, value_name = "PACKAGE[@VERSION]", group = "source")]
    npm: Option<NpmSpec>,

    /// The Python package [default version: the newest]
    #[arg(long, value_name = "PACKAGE[==VERSION]", group = "source")]
    pypi: Option<PypiSpec>,

    /// The GitHub repository [default tag: the newest release]
    ///
    /// Its releases have archives of the agent.
    #[arg(long, value_name = "OWNER/REPO[@TAG]", group = "source")]
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

    /// Start nothing
    ///
    /// The manifest then has the arguments of --args, or none.
    #[arg(long)]
    no_probe: bool,

    /// Write nothing; show what would be written
    #[arg(long)]
    dry_run: bool,

    /// Ask for everything again, and keep nothing
    #[arg(long)]
    no_cache: bool,

    #[command(flatten)]
    pub(super) format: FormatArgs,

    #[command(flatten)]
    live: LiveArgs,
}

pub(super) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let config = global.config()?;
    let levels = configured_levels(&config)?;
    let allowed = global.allowed_hosts()?;
    if args.live.is_set() && args.no_probe {
        let failure = Failure::usage("--no-probe starts nothing, and other flags are for starting agents");
        return Err(failure.help("leave out --no-probe, or these flags"));
    }
    let registry = Registry::load(&global.registry_dir())?;
    let options = Options { levels: &levels, allowed_hosts: &allowed, config: &config, survey: None };
    // Before anybody is asked.
    let folder = registry.root.join(&args.id);
    scaffold::check_id(&args.id, &registry.root, &options).map_err(|error| {
        let near = id_of(&args.id);
        let is_good = *near != args.id && scaffold::check_id(&near, &registry.root, &options).is_ok();
        let failure = Failure::from(error);
        if !is_good {
            return failure;
        }
        failure.help(format!("did you mean {}?", quote(&near))).suggest([&*near])
    })?;
    if folder.symlink_metadata().is_ok() {
        return Err(scaffold::Error::Exists(folder).into());
    }

    let mut draft = ask(args, &config, &allowed, ui)?;
    let mut left = todo::similar(&registry, &draft.agent);
    let attempts = try_ways(args, &config, &allowed, &draft.agent.distribution, ui)?;
    set_arguments(&mut draft.agent.distribution, &arguments(args, attempts.as_ref()));
    left.append(&mut draft.notes);
    left.extend(todo::of_start(args.arguments.is_some(), attempts.as_ref()));

    let proposal = scaffold::propose(&draft, &registry.root, &options);
    if !args.dry_run {
        scaffold::place(&registry.root, &args.id, &proposal)?;
    }
    left.extend(proposal.left_out.iter().cloned());
    let put_right = todo::put_right(&proposal.errors, &left);
    left.extend(put_right);
    let icon = shown_path(&global.registry_dir(), &args.id, "icon.svg");
    left.push(format!("draw `{icon}`, which is the initial letter now: 16×16, with currentColor"));
    let flags = global.registry_flags();
    left.push(format!(
        "run `acp-registry validate {} --all{flags}`, which is what the registry's own check runs",
        args.id
    ));

    let text = if args.format.is_json() {
        acp_registry::json::to_string(&document(args, &draft, attempts.as_ref(), &proposal, &left))
    } else {
        let text = human(args, &global.registry_dir(), &draft, attempts.as_ref(), &left, ui.look());
        if args.dry_run { format!("{text}\n{}", printable_lines(&proposal.manifest_text)) } else { text }
    };
    ui.result(&text)?;
    Ok(if proposal.errors.is_empty() { Exit::Success } else { Exit::Findings })
}

/// The id that is most like a text.
fn id_of(text: &str) -> String {
    let lower = text.trim().to_ascii_lowercase();
    let plain: String = lower.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    plain.trim_start_matches(|c: char| !c.is_ascii_lowercase()).trim_end_matches('-').to_owned()
}

/// Asks the source.
fn ask(args: &Args, config: &Config, allowed: &AllowedHosts, ui: &Ui) -> Result<Draft, Failure> {
    let origin = match (&args.npm, &args.pypi, &args.github) {
        (Some(spec), ..) => Origin::Npm(spec.clone()),
        (_, Some(spec), _) => Origin::Pypi(spec.clone()),
        (.., Some(spec)) => Origin::Github(spec.clone()),
        _ => return Err(Failure::usage("--npm, --pypi or --github is wanted")),
    };
    let needs = Needs { npm: matches!(origin, Origin::Npm(_)), pypi: matches!(origin, Origin::Pypi(_)) };
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
        Failure::from(error).help_if(remedy.as_deref())
    })
}

/// Installs the agent in a place of its own, and finds out how it is started.
fn try_ways(
    args: &Args,
    config: &Config,
    allowed: &AllowedHosts,
    distribution: &Distribution,
    ui: &Ui,
) -> Result<Option<Attempts>, Failure> {
    if args.no_probe {
        return Ok(None);
    }
    let sources: Vec<Source> =
        Kind::ALL.into_iter().filter_map(|kind| kind.source(distribution, Platform::host()).ok().flatten()).collect();
    let Some(source) = sources.into_iter().next() else {
        let not_started = Some(("unsupported_platform", "there is nothing for this machine".to_owned()));
        return Ok(Some(Attempts { not_started, ..Attempts::default() }));
    };
    let lists: Vec<Vec<String>> = match named(args) {
        Some(arguments) => vec![arguments],
        None => WAYS.iter().map(|way| way.iter().map(ToString::to_string).collect()).collect(),
    };
    let settings =
        Settings { allowed, limits: config.archive_limits.limits(), probes: false, use_cache: !args.no_cache };
    let mut verifier = live::verifier(&args.live, settings, ui)?;
    if !args.live.has_timeout() {
        verifier.handshake.timeout = PATIENCE;
    }
    let ways: Vec<String> = lists.iter().map(|list| shown(list)).collect();
    let trying = |what: Trying| match what {
        Trying::Installing => ui.note(&format!("installing {}, to find out how it is started", quote(source.name()))),
        Trying::Starting => ui.note(&format!("starting it with {}", all_of(&ways))),
        Trying::Ended { count, of } => ui.note(&format!("{count} of {of} tried")),
    };
    let (attempts, hidden) = live::beside_agents(1, async {
        verifier.get_ready().await?;
        Ok(verifier.attempt(&source, &lists, &trying).await)
    });
    let attempts = attempts?;
    if hidden > 0 {
        ui.warning(&format!("the agent had hidden processes, which were ended as well: {hidden}"));
    }
    if let Some(error) = &attempts.left {
        ui.warning(&format!("a temporary directory could not be removed; remove it by hand: {error}"));
    }
    Ok(Some(attempts))
}

/// The arguments that the person has named.
fn named(args: &Args) -> Option<Vec<String>> {
    let texts = args.arguments.as_ref()?;
    Some(texts.iter().flat_map(|text| text.split_whitespace()).map(ToOwned::to_owned).collect())
}

fn arguments(args: &Args, attempts: Option<&Attempts>) -> Vec<String> {
    let found = || attempts.and_then(Attempts::best).map(|attempt| attempt.arguments.clone());
    named(args).or_else(found).unwrap_or_default()
}

fn set_arguments(distribution: &mut Distribution, arguments: &[String]) {
    for package in distribution.npx.iter_mut().chain(&mut distribution.uvx) {
        package.args = arguments.to_vec();
    }
    for target in &mut distribution.binary {
        target.args = arguments.to_vec();
    }
}

/// Several ways in one sentence.
pub(super) fn all_of(ways: &[String]) -> String {
    match ways {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => ways.join(", "),
    }
}

pub(super) fn shown(arguments: &[String]) -> String {
    if arguments.is_empty() { "no arguments".to_owned() } else { quote(&arguments.join(" ")) }
}

fn document(args: &Args, draft: &Draft, attempts: Option<&Attempts>, proposal: &Proposal, left: &[String]) -> Value {
    let tried = |attempt: &Attempt| {
        let Attempt { arguments, outcome } = attempt;
        json!({ "args": arguments, "verdict": outcome.verdict, "reason": outcome.reason, "message": outcome.message })
    };
    let probe = attempts.map(|attempts| {
        let best = attempts.best();
        json!({
            "verdict": best.map(|attempt| attempt.outcome.verdict),
            "args": best.map(|attempt| &attempt.arguments),
            "tried": attempts.tried.iter().map(tried).collect::<Vec<_>>(),
            "not_started": attempts.not_started.as_ref().map(|(reason, message)| json!({ "reason": reason, "message": message })),
        })
    });
    json!({
        "schema": 1, "command": "new", "id": args.id, "version": draft.agent.version, "dry_run": args.dry_run,
        "files": files(&args.id), "manifest": proposal.manifest, "probe": probe,
        "errors": proposal.errors.iter().map(|finding| json!({ "rule": finding.rule, "pointer": finding.pointer, "message": finding.message })).collect::<Vec<_>>(),
        "left_to_do": left,
    })
}

/// The files of the new agent, below the registry directory.
fn files(id: &str) -> [String; 2] {
    NAMES.map(|name| shown_path(Path::new("."), id, name))
}

fn printable_lines(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", acp_registry::text::printable(line))).collect()
}

/// The path of a file of the new agent, from the working directory.
fn shown_path(registry: &Path, id: &str, name: &str) -> String {
    let below = Path::new(id).join(name);
    let path = if registry == Path::new(".") { below } else { registry.join(below) };
    path.display().to_string().replace('\\', "/")
}

fn human(
    args: &Args,
    registry: &Path,
    draft: &Draft,
    attempts: Option<&Attempts>,
    left: &[String],
    look: Look,
) -> String {
    let distribution = &draft.agent.distribution;
    let packages =
        distribution.packages().map(|(kind, package)| format!("{} {}", kind.as_str(), quote(&package.package)));
    let platforms: Vec<&str> = distribution.binary.iter().map(|target| target.platform.as_str()).collect();
    let binary = (!platforms.is_empty()).then(|| format!("binary for {}", platforms.join(", ")));
    let ways: Vec<String> = packages.chain(binary).collect();
    let start = match attempts.and_then(Attempts::best) {
        Some(attempt) => format!("started with {}: {}", shown(&attempt.arguments), answer(attempt)),
        None => "not seen to start".to_owned(),
    };
    let files = NAMES.map(|name| shown_path(registry, &args.id, name)).join(" and ");
    let head = [
        format!("{} {files}", if args.dry_run { "would write" } else { "wrote" }),
        format!("  {} {}: {}", draft.agent.name, draft.agent.version, ways.join("; ")),
        format!("  {start}"),
    ];
    let mut text: String = head.iter().map(|line| look.wrap(line, 4)).collect();
    text.push_str("\nleft to do:\n");
    for (at, item) in (1..).zip(left) {
        text.push_str(&look.wrap(&format!("{at:>3}. {}", acp_registry::text::printable(item)), 5));
    }
    text
}

fn answer(attempt: &Attempt) -> String {
    let methods = &attempt.outcome.handshake.auth_methods;
    let methods: Vec<String> =
        methods.iter().take(5).map(|method| format!("{} ({})", quote(&method.id), quote(&method.kind))).collect();
    match attempt.outcome.verdict {
        Verdict::Pass => format!("it answers, and people sign in by {}", methods.join(", ")),
        _ => "it answers, but people cannot sign in".to_owned(),
    }
}
