//! `acp-registry build`

pub(crate) mod text;

use std::env;
use std::path::PathBuf;
use std::time::Instant;

use acp_registry::advisories::Advisories;
use acp_registry::build::{BuildRequest, EarlierTree, Error, Site, TreeLocation, build};
use acp_registry::check::{CheckOptions, Checked};
use acp_registry::config::{Config, check_base_url};
use acp_registry::index::minisign::PublicKey;
use acp_registry::registry::Registry;
use acp_registry::timestamp::Timestamp;
use acp_registry::tree::{BuildError, Built, PublishedTree, SignedTree};

use self::text::{BuildNotice, BuildReport, build_errors, build_notices};
use crate::flags::global::{FormatArgs, Global, configured_levels};
use crate::flags::network::settings;
use crate::flags::session::signer;
use crate::terminal::ui::Ui;
use acp_registry::failure::{Exit, Failure};
use acp_registry::text::plural;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The directory of the tree, which is replaced as a whole
    #[arg(long, value_name = "DIR", default_value = "dist")]
    out: PathBuf,

    /// The address of the published tree
    ///
    /// The default is `base-url` in registry.toml, else none: links are relative. Without a registry.toml, it is the address
    /// of the public registry.
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,

    /// Leave out the catalog site and the entries of single agents
    #[arg(long)]
    no_site: bool,

    /// What agents can do, as `verify --out` wrote it
    ///
    /// The default is `capabilities.json` in the registry.
    #[arg(long, value_name = "FILE", conflicts_with = "no_site")]
    capabilities: Option<PathBuf>,

    /// When agents came, changed and went
    ///
    /// The default is `history.json` in the registry, else its git commits.
    #[arg(long, value_name = "FILE", conflicts_with = "no_site")]
    history: Option<PathBuf>,

    /// Keep the last published form of agents with errors
    ///
    /// The value is a published tree, by default what is published at `base-url`. Agents with errors that it does not
    /// have are left out. Its history goes on where git does not know it.
    #[arg(long, value_name = "DIR|URL", num_args = 0..=1, default_missing_value = "")]
    previous: Option<String>,

    /// With --previous, take only what this key has signed [env: `ACP_REGISTRY_SIGNER`]
    #[arg(long, value_name = "KEY", requires = "previous")]
    signer: Option<PublicKey>,

    /// Exit 1 when agents keep their last form or are left out
    #[arg(long, requires = "previous")]
    strict: bool,

    /// Write nothing; exit 1 if the tree differs
    #[arg(long)]
    check: bool,

    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

pub(crate) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let started = Instant::now();
    let config = global.config()?;
    if let Some(address) = &args.base_url {
        check_base_url(address)
            .map_err(|error| Failure::usage(error).help("write the address below which the tree is published"))?;
    }
    let (allowed_hosts, levels) =
        (global.allowed_hosts()?, configured_levels(&config, &global.config_file(&global.registry_dir()))?);
    let directory = global.registry_dir();
    let registry = Registry::load(&directory)?;
    let place = previous_place(args, &config, ui);
    let open = |place: &str| place.parse::<TreeLocation>()?.open(|| settings(&allowed_hosts));
    let previous = place.map(open).transpose()?;
    let signed = match (signer(args.signer)?, previous.as_deref()) {
        (Some(signer), Some(tree)) => Some(SignedTree::load(tree, signer)?),
        _ => None,
    };
    let previous = signed.as_ref().map(|tree| tree as &dyn PublishedTree).or(previous.as_deref());
    let earlier = previous.map(|tree| moment().map(|now| EarlierTree { tree, now })).transpose()?;
    let (capabilities, history) = (args.capabilities.as_deref(), args.history.as_deref());
    let site = (!args.no_site).then_some(Site { directory: &directory, capabilities, history, published: None });
    let advisories = Advisories::read(&config, &registry.root);
    let check = CheckOptions {
        levels: &levels,
        allowed_hosts: &allowed_hosts,
        config: &config,
        survey: None,
        advisories: Some(&advisories),
    };
    let base_url = args.base_url.as_deref();
    let request = BuildRequest { registry: &registry, check: &check, base_url, earlier, site };
    let job = Job { args, ui, registry: &registry, place, started };
    let exit = build(&request, |checked, result| match result {
        Ok(built) => {
            job.show_errors(checked);
            job.notices(built);
            if acp_registry::tree::base_url(base_url, &config, &registry.root).is_none() {
                ui.warning(
                    "`base-url` is not set in registry.toml: all links are relative, and `publish` refuses the tree",
                );
            }
            job.write(checked, built)
        }
        Err(error) => {
            job.show_errors(checked);
            job.failed(checked, error)
        }
    });
    // The process is about to exit: freeing a large registry would take a tenth of the run time.
    std::mem::forget(registry);
    exit
}

/// What the result of a build depends on.
struct Job<'a> {
    args: &'a Args,
    ui: &'a Ui,
    registry: &'a Registry,
    place: Option<&'a str>,
    started: Instant,
}

impl Job<'_> {
    /// Writes the tree, or compares it with the output directory, and prints the result.
    fn write(&self, checked: &Checked, built: &Built<'_>) -> Result<Exit, Failure> {
        let out = &self.args.out;
        let (differences, changed) = if self.args.check {
            (built.tree.differences(out)?, None)
        } else {
            (Vec::new(), Some(built.tree.write(out, &self.registry.root)?))
        };
        let report = BuildReport { differences: &differences, changed, ..self.report(checked, Ok(built)) };
        let refusal = if !differences.is_empty() {
            let differs = plural(differences.len(), "file");
            Some(Failure::findings(format!("{} differs in {differs}", out.display())).help("build it without --check"))
        } else if self.args.strict && !built.is_complete() {
            let incomplete = Failure::findings("agents keep their last form, or are left out");
            Some(incomplete.help("correct the errors; `acp-registry validate` lists them"))
        } else {
            None
        };
        let exit = if refusal.is_some() { Exit::Findings } else { Exit::Success };
        self.ui.result(&if self.args.format.is_json() { report.document(refusal) } else { report.human() })?;
        Ok(exit)
    }

    fn failed(&self, checked: &Checked, error: Error) -> Result<Exit, Failure> {
        let is_of_tree = matches!(error, Error::Tree(_));
        // If a previous tree was named, it has none of these agents either, so that naming one is no remedy.
        let has_no_form = self.place.is_some() && matches!(error, Error::Tree(BuildError::Findings { .. }));
        let failure = Failure::from(error);
        let failure =
            if has_no_form { failure.help("correct the errors; `acp-registry validate` lists them") } else { failure };
        if !(self.args.format.is_json() && is_of_tree) {
            return Err(failure);
        }
        self.ui.result(&self.report(checked, Err(failure.clone())).document(Some(failure.clone())))?;
        self.ui.failure(&failure);
        Ok(failure.exit())
    }

    fn report<'a>(&'a self, checked: &'a Checked, built: Result<&'a Built<'a>, Failure>) -> BuildReport<'a> {
        BuildReport {
            out: &self.args.out,
            is_check: self.args.check,
            checked,
            built,
            differences: &[],
            changed: None,
            previous: self.place,
            duration: self.started.elapsed(),
        }
    }

    fn show_errors(&self, checked: &Checked) {
        if !self.args.format.is_json()
            && let Some(errors) = build_errors(self.registry, checked, self.ui.look_of_notes())
        {
            self.ui.show(&errors);
        }
    }

    fn notices(&self, built: &Built<'_>) {
        for notice in build_notices(built, self.registry, self.place) {
            match notice {
                BuildNotice::Incomplete(text) if self.args.strict => self.ui.error(&text),
                BuildNotice::Incomplete(text) | BuildNotice::Warning(text) => self.ui.warning(&text),
                BuildNotice::Note(text) => self.ui.note(&text),
            }
        }
    }
}

/// The tree that `--previous` names; without a value, the base URL that the tree will be published at.
fn previous_place<'a>(args: &'a Args, config: &'a Config, ui: &Ui) -> Option<&'a str> {
    let named = Some(args.previous.as_deref()?).filter(|place| !place.is_empty());
    let place = named.or(args.base_url.as_deref()).or(config.base_url.as_deref());
    if place.is_none() {
        ui.warning(
            "--previous has no value, and registry.toml no `base-url`: there is no earlier tree, so that an agent with errors \
             stops the build",
        );
    }
    place
}

/// Returns the time of publication: `SOURCE_DATE_EPOCH` if set, for reproducible builds, otherwise the current time.
fn moment() -> Result<Timestamp, Failure> {
    let wrong =
        || Failure::usage("SOURCE_DATE_EPOCH is not a number of seconds since 1970").help("correct or unset it");
    match env::var("SOURCE_DATE_EPOCH") {
        Ok(text) if !text.trim().is_empty() => {
            let seconds = text.trim().parse().ok();
            seconds.and_then(Timestamp::from_unix).ok_or_else(wrong)
        }
        _ => Ok(Timestamp::now()),
    }
}
