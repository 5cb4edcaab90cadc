//! `acp-registry publish`

pub(crate) mod snapshots;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{env, fs};

use acp_registry::config::is_registry;
use acp_registry::duration;
use acp_registry::host::command;
use acp_registry::host::fs::{read_bounded, resolve_new};
use acp_registry::host::git::Repository;
use acp_registry::http::AllowedHosts;
use acp_registry::index::minisign::{PublicKey, SecretKey};
use acp_registry::registry::{Registry, agent_folders};
use acp_registry::statement::{STATEMENT, STATEMENT_SIGNATURE, Signed};
use acp_registry::sums::{SIGNATURE, SUMS};
use acp_registry::text::{bytes, plural, printable};
use acp_registry::timestamp::Timestamp;
use acp_registry::upload::{
    self, Action, Bucket, BuiltTree, Gzip, LeaseTimes, Notice, PublishOptions, Revision, Sign, Signing, UploadEvent,
    UploadResult, UploadRun, UploadTarget, What,
};
use clap::Subcommand;
use serde::Serialize;
use url::Url;

use self::snapshots::{ListArgs, PruneArgs, RollbackArgs};
use crate::documents::Document;
use crate::flags::global::{FormatArgs, Global};
use crate::flags::network::settings;
use crate::flags::session::signer;
use crate::flags::value;
use crate::terminal::progress::Count;
use crate::terminal::signals;
use crate::terminal::ui::Ui;
use acp_registry::failure::{Exit, Failure};

/// The time limit of the signing command.
const PATIENCE: Duration = Duration::from_mins(5);

/// The largest signature that is accepted, in bytes.
const SIGNATURE_LIMIT: u64 = 1 << 20;

const VARIABLES: &str = "\
A bucket is that of any store with the interface of S3, described by the usual variables:
  AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN  the key
  AWS_REGION        the region, else AWS_DEFAULT_REGION [default: us-east-1]; R2 has auto
  AWS_ENDPOINT_URL  the store, if it is not that of AWS; AWS_ENDPOINT_URL_S3 comes first; without https only here or with --allow-host";

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, disable_help_subcommand = true, after_help = VARIABLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    place: PlaceArgs,

    /// The built tree
    #[arg(long, value_name = "DIR", default_value = "dist")]
    from: PathBuf,

    /// What the snapshot is named after
    ///
    /// The default is the commit of the registry, else a digest of the tree.
    #[arg(long, value_name = "TEXT")]
    revision: Option<Revision>,

    /// How long unused files stay in latest/
    ///
    /// Readers of the previous index need them.
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, default_value = "1h")]
    grace: Duration,

    /// Sign SHA256SUMS with this command
    ///
    /// The command is run without a shell. The path of SHA256SUMS is its last argument; it writes the signature
    /// beside it, to SHA256SUMS.sig. Clients do not verify it; they verify that of --sign-with.
    #[arg(long, value_name = "COMMAND")]
    sign: Option<String>,

    #[command(flatten)]
    signing: SignArgs,

    #[command(flatten)]
    gzip: GzipArgs,

    /// Compare every file with what is published
    ///
    /// Every file is read. Without it, the state of the last run says what is in latest/ and in the snapshot that it is made from.
    #[arg(long)]
    recheck: bool,

    /// Change nothing; show what would be sent and removed
    #[arg(long)]
    dry_run: bool,

    /// Files that are sent at once
    #[arg(long, value_name = "N", default_value = "16", value_parser = value::number(1..=256))]
    jobs: u16,

    #[command(flatten)]
    format: FormatArgs,
}

/// How what clients read is signed.
#[derive(Debug, clap::Args)]
pub(crate) struct SignArgs {
    /// Sign latest/statement.json with this command
    ///
    /// The command is run without a shell. The path of the statement is its last argument; it writes the signature beside
    /// it, as `minisign -S -s registry.key -m` does. Without it, the key in `ACP_REGISTRY_SIGNING_KEY` signs: a secret key of
    /// minisign without a password.
    #[arg(long, value_name = "COMMAND")]
    sign_with: Option<String>,

    /// The public key of --sign-with [env: `ACP_REGISTRY_SIGNER`]
    ///
    /// It is needed for the first statement, and when the last one names several keys.
    #[arg(long, value_name = "KEY")]
    signer: Option<PublicKey>,

    /// A further key that may sign the next statement (repeatable)
    ///
    /// It stays announced until another key signs.
    #[arg(long, value_name = "KEY")]
    next_key: Vec<PublicKey>,

    /// How long a statement is valid
    ///
    /// It is renewed when less than half of the time is left. Clients use an expired one for a day more, with a warning.
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, default_value = "7d")]
    valid_for: Duration,
}

impl SignArgs {
    /// Calls `work` with what signs statements.
    pub(crate) fn with<T>(&self, work: impl FnOnce(Option<Signing>) -> T) -> Result<T, Failure> {
        let (next, valid_for) = (self.next_key.clone(), self.valid_for);
        if valid_for < SHORTEST {
            let failure = Failure::usage("--valid-for is less than an hour: clients would refuse the registry soon");
            return Err(failure.help("write a time such as 7d"));
        }
        if let Some(command) = &self.sign_with {
            let command = command.clone();
            let sign: Sign = Arc::new(move |text| sign("--sign-with", &command, text, STATEMENT, STATEMENT_SIGNATURE));
            let signer = signer(self.signer)?;
            return Ok(work(Some(Signing { sign, signer, next, valid_for })));
        }
        let Ok(key) = env::var(KEY) else { return Ok(work(None)) };
        // A secret that a repository does not have is an empty text.
        if key.trim().is_empty() {
            return Ok(work(None));
        }
        let key: SecretKey = key.parse().map_err(|error| {
            Failure::usage(format!("{KEY}: {error}"))
                .help("set it to the text of the file that `minisign -G -W` writes")
        })?;
        let named = signer(self.signer)?;
        if let Some(named) = named.filter(|named| *named != key.public()) {
            let failure = Failure::usage(format!("{KEY} is the secret key of {}, not of {named}", key.public()));
            return Err(failure.help("correct --signer or ACP_REGISTRY_SIGNER, or the key"));
        }
        let signer = Some(key.public());
        let sign: Sign = Arc::new(move |text| Ok(key.sign(text, STATEMENT).into_bytes()));
        Ok(work(Some(Signing { sign, signer, next, valid_for })))
    }
}

/// The shortest time for which statements are signed.
const SHORTEST: Duration = Duration::from_hours(1);

/// The variable with the secret key.
const KEY: &str = "ACP_REGISTRY_SIGNING_KEY";

/// Which files are stored compressed.
#[derive(Debug, clap::Args)]
struct GzipArgs {
    /// Store assets/ compressed in a bucket
    ///
    /// For stores without a proxy or CDN that compresses what it sends.
    #[arg(long = "gzip-assets")]
    assets: bool,

    /// Store indexes, revoked.json, SHA256SUMS, history.json and the sitemap compressed in a bucket
    ///
    /// Readers get them compressed even if they have not asked for it: browsers and acp-registry decode them, curl needs
    /// --compressed.
    #[arg(long = "gzip-documents")]
    documents: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List snapshots
    ///
    /// The newest comes first.
    List(ListArgs),

    /// Put an earlier snapshot into latest/
    ///
    /// Every file is read and compared with its digest before anything is sent. Readers always find a complete tree. The
    /// next publication puts its own tree there.
    Rollback(RollbackArgs),

    /// Remove old snapshots
    ///
    /// The newest stays, and so do those with the same tree as latest/.
    Prune(PruneArgs),
}

/// The target, and how long to wait for another publisher.
#[derive(Debug, clap::Args)]
pub(crate) struct PlaceArgs {
    /// Where trees are published
    #[arg(long, value_name = "DIR|s3://BUCKET[/PREFIX]", required = true)]
    to: Option<String>,

    /// How long to wait for another publisher
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, default_value = "2m")]
    wait: Duration,

    /// How long a publisher to a bucket may be silent before it counts as dead
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, default_value = "1m")]
    lease: Duration,
}

impl PlaceArgs {
    /// clap enforces `--to`, except before a subcommand, which has a `--to` of its own.
    pub(crate) fn to(&self) -> &str {
        self.to.as_deref().unwrap_or_default()
    }

    /// The run that changes the target.
    fn upload<'a>(&self, target: &'a UploadTarget, jobs: u16, is_dry_run: bool, notice: Notice<'a>) -> UploadRun<'a> {
        let turns = LeaseTimes { wait: self.wait, lease: self.lease };
        UploadRun { target, jobs: usize::from(jobs), turns, is_dry_run, notice }
    }
}

/// The target that `--to` names.
pub(crate) fn target(to: &str, global: &Global) -> Result<UploadTarget, Failure> {
    if to.trim().is_empty() {
        return Err(Failure::usage("--to names no place").help("name a directory, or a bucket as s3://BUCKET"));
    }
    if to.starts_with("s3://") {
        return Ok(UploadTarget::bucket(bucket(to, &global.allowed_hosts()?)?)?);
    }
    if to == "-" {
        let failure = Failure::usage("--to -: a tree is many files, and cannot go to a pipe");
        return Err(failure.help("name a directory, or ./- for one of that name"));
    }
    if let Some(scheme) = scheme(to) {
        let to = printable(to);
        let failure = Failure::usage(format!("--to {to}: {scheme} is not known here"));
        if to.contains("://") && !scheme.eq_ignore_ascii_case("s3") {
            return Err(failure.help("name a directory, or a bucket as s3://BUCKET"));
        }
        return Err(failure.help(format!("a bucket is s3://BUCKET, and a directory of that name ./{to}")));
    }
    refuse_registry(Path::new(to), &global.registry_dir())?;
    Ok(UploadTarget::directory(Path::new(to)))
}

/// Refuses a directory in the registry, since snapshots and `latest/` would appear among the folders of agents.
fn refuse_registry(to: &Path, registry: &Path) -> Result<(), Failure> {
    let Ok(root) = registry.canonicalize() else { return Ok(()) };
    let real = resolve_new(to);
    let Ok(inside) = real.strip_prefix(&root) else { return Ok(()) };
    let folder = inside.iter().next().map(|name| name.to_string_lossy());
    if folder.is_some_and(|name| Registry::passes_over(&name))
        || !(is_registry(&root) || agent_folders(&root).next().is_some())
    {
        return Ok(());
    }
    let to = printable(&to.display().to_string()).into_owned();
    let message = if inside.as_os_str().is_empty() {
        format!("{to} is the registry itself, whose folders are agents")
    } else {
        format!("{to} is inside the registry and would be taken for an agent")
    };
    Err(Failure::usage(message).help("name another directory with --to"))
}

/// The URL scheme of a text, if it has one. A single letter is a Windows drive.
fn scheme(to: &str) -> Option<&str> {
    let (scheme, _) = to.split_once(':')?;
    let is_scheme = scheme.len() > 1
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    is_scheme.then_some(scheme)
}

pub(crate) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    match &args.command {
        None => send(args, global, ui),
        Some(Command::Prune(args)) => snapshots::prune(args, global, ui),
        Some(Command::List(args)) => snapshots::list(args, global, ui),
        Some(Command::Rollback(args)) => snapshots::rollback(args, global, ui),
    }
}

fn send(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let started = Instant::now();
    let place = &args.place;
    let target = target(place.to(), global)?;
    let tree = BuiltTree::read(&args.from)?;
    let signed = args
        .sign
        .clone()
        .map(|command| -> Sign { Arc::new(move |sums| sign("--sign", &command, sums, SUMS, SIGNATURE)) });
    let progress = Count::files(ui);
    let notice = |event| show(event, &progress, ui);
    let done = args.signing.with(|signing| {
        let options = PublishOptions {
            revision: args.revision.clone().unwrap_or_else(|| revision(&global.registry_dir())),
            grace: args.grace,
            sign: signed,
            signing,
            gzip: Gzip { assets: args.gzip.assets, documents: args.gzip.documents },
            recheck: args.recheck,
        };
        let run = place.upload(&target, args.jobs, args.dry_run, &notice);
        signals::run_and_forget(upload::publish(run, &tree, &options))
    });
    progress.clear();
    report(&done???, Change::Publication, args.dry_run, (place.to(), args.format.is_json()), started, ui)
}

/// What changes a target.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Publication,
    Rollback,
}

/// Prints what was sent, or would be.
pub(crate) fn report(
    done: &UploadResult,
    change: Change,
    is_dry_run: bool,
    (to, is_json): (&str, bool),
    started: Instant,
    ui: &Ui,
) -> Result<Exit, Failure> {
    let to = printable(to);
    ui.result(&if is_json {
        let members = PublishDocument {
            rollback: (change == Change::Rollback).then_some(true),
            to: &to,
            dry_run: is_dry_run,
            snapshot: &done.snapshot,
            previous: done.previous.as_deref(),
            is_new_snapshot: (change == Change::Publication).then_some(!done.is_known),
            files: done.actions.iter().map(FileAction::of).collect(),
            summary: FileCounts::of(&done.actions, started.elapsed().as_secs_f64()),
        };
        Document::new("publish", members).to_text()
    } else {
        human(done, &to, is_dry_run)
    })?;
    Ok(Exit::Success)
}

pub(crate) fn show(event: UploadEvent, progress: &Count, ui: &Ui) {
    match event {
        UploadEvent::Waiting(holder) => ui.note(&format!("waiting for another publisher ({holder})")),
        UploadEvent::Warning(text) => ui.warning(&text),
        UploadEvent::Planned(count) => progress.plan(count),
        UploadEvent::Done => progress.step(),
    }
}

/// The bucket, configured from the usual environment variables of S3.
fn bucket(address: &str, allowed: &AllowedHosts) -> Result<Bucket, Failure> {
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.trim().is_empty());
    let first = |names: [&'static str; 2]| names.into_iter().find_map(|name| Some((name, variable(name)?)));
    let needed = |name: &str| {
        variable(name).ok_or_else(|| {
            Failure::unable(format!("{name} is not set: {address} cannot be written without a key"))
                .help("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to a key that may write there")
        })
    };
    let endpoint = first(["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]);
    let endpoint = endpoint.map(|(name, value)| {
        Url::parse(value.trim()).map_err(|error| {
            Failure::usage(format!("{name} is not an address: {error}"))
                .help("set it to the https address of the store")
        })
    });
    Ok(Bucket {
        address: address.to_owned(),
        endpoint: endpoint.transpose()?,
        region: first(["AWS_REGION", "AWS_DEFAULT_REGION"])
            .map_or_else(|| "us-east-1".to_owned(), |(_, region)| region),
        key_id: needed("AWS_ACCESS_KEY_ID")?,
        secret: needed("AWS_SECRET_ACCESS_KEY")?,
        token: variable("AWS_SESSION_TOKEN"),
        net: settings(allowed)?,
    })
}

/// The current commit of the registry, if it is in a git repository.
fn revision(registry: &Path) -> Revision {
    let commit = Repository::around(registry).and_then(|repository| repository.head()).ok();
    let short = commit.and_then(|commit| commit.get(..12).map(ToOwned::to_owned));
    short.map_or(Revision::Content, Revision::Known)
}

/// Runs the signing command of a flag on a text of this name, in a temporary directory. Returns the signature, which the
/// command writes beside it.
fn sign(flag: &str, command: &str, text: &[u8], name: &str, signature: &str) -> Result<Vec<u8>, String> {
    let mut words = command.split_whitespace();
    let program = words.next().ok_or_else(|| format!("{flag} names no program"))?;
    let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
    let root = directory.path().canonicalize().map_err(|error| error.to_string())?;
    let (list, signature) = (root.join(name), root.join(signature));
    fs::write(&list, text).map_err(|error| error.to_string())?;
    let arguments: Vec<&OsStr> = words.map(OsStr::new).chain([list.as_os_str()]).collect();
    let here = env::current_dir().map_err(|error| error.to_string())?;
    command::run(program, &arguments, &here, PATIENCE)?;
    let is_same = read_bounded(&list, &root, text.len() as u64).is_ok_and(|signed| signed == text);
    if !is_same {
        return Err(format!("{program} has changed its copy of {name}, so that it signed something else"));
    }
    let bytes = read_bounded(&signature, &root, SIGNATURE_LIMIT)
        .map_err(|error| format!("{program} has written no signature to {}: {error}", signature.display()))?;
    if bytes.is_empty() {
        return Err(format!("{program} has written an empty signature"));
    }
    Ok(bytes)
}

/// Members of `publish` and `publish rollback`.
#[derive(Debug, Serialize)]
struct PublishDocument<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    rollback: Option<bool>,
    to: &'a str,
    dry_run: bool,
    snapshot: &'a str,
    previous: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_new_snapshot: Option<bool>,
    files: Vec<FileAction<'a>>,
    summary: FileCounts,
}

/// The action taken for a file.
#[derive(Debug, Serialize)]
struct FileAction<'a> {
    file: &'a str,
    action: &'static str,
    /// Size in bytes of a file that was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// Only for an outdated file that is kept for a while.
    #[serde(flatten)]
    stale: Option<Stale>,
}

/// When an outdated file may be removed. RFC 3339.
#[derive(Debug, Serialize)]
struct Stale {
    until: Option<String>,
}

impl<'a> FileAction<'a> {
    fn of(action: &'a Action) -> Self {
        let (size, stale) = match action.what {
            What::Send(length) => (Some(length), None),
            What::Stale(until) => (None, Some(Stale { until: time(until) })),
            What::Keep | What::Remove => (None, None),
        };
        Self { file: &action.file, action: action.what.as_str(), size, stale }
    }
}

pub(crate) fn time(seconds: i64) -> Option<String> {
    Timestamp::from_unix(seconds).map(|time| time.to_string())
}

/// How many files there are per action.
#[derive(Debug, Serialize)]
struct FileCounts {
    sent: usize,
    sent_bytes: u64,
    kept: usize,
    stale: usize,
    removed: usize,
    duration_seconds: f64,
}

impl FileCounts {
    fn of(actions: &[Action], duration_seconds: f64) -> Self {
        let count = |is: fn(What) -> bool| actions.iter().filter(|action| is(action.what)).count();
        let length = |action: &Action| if let What::Send(length) = action.what { length } else { 0 };
        Self {
            sent: count(|what| matches!(what, What::Send(_))),
            sent_bytes: actions.iter().map(length).sum(),
            kept: count(|what| what == What::Keep),
            stale: count(|what| matches!(what, What::Stale(_))),
            removed: count(|what| what == What::Remove),
            duration_seconds,
        }
    }
}

/// The counts of actions, which snapshot readers find in `latest/`, and what was signed. In a dry run, a line for each file that
/// would change precedes them.
fn human(done: &UploadResult, to: &str, is_dry_run: bool) -> String {
    let mut out = String::new();
    if is_dry_run {
        for action in done.actions.iter().filter(|action| action.what != What::Keep) {
            out.push_str(&format!("{:<6} {}\n", action.what.as_str(), printable(&action.file)));
        }
    }
    let FileCounts { sent, sent_bytes, kept, stale, removed, .. } = FileCounts::of(&done.actions, 0.0);
    let verb = if is_dry_run { "would be sent" } else { "sent" };
    out.push_str(&format!("{} {verb} to {to} ({}), {kept} unchanged", plural(sent, "file"), bytes(sent_bytes)));
    if stale > 0 {
        out.push_str(&format!(", {stale} stale"));
    }
    if removed > 0 {
        out.push_str(&format!(", {removed} removed"));
    }
    let is = if is_dry_run { "would be" } else { "is" };
    let before = match done.previous.as_deref() {
        Some(previous) if previous == done.snapshot => " (as before)".to_owned(),
        Some(previous) => format!(" instead of {}", printable(previous)),
        None => String::new(),
    };
    out.push_str(&format!("\nlatest {is} {}{before}\n", printable(&done.snapshot)));
    if let Some(Signed { signer, sequence, expires_at }) = &done.signed {
        let verb = if is_dry_run { "would be signed" } else { "signed" };
        out.push_str(&format!("{verb} by {signer}: statement {sequence}, valid until {expires_at}\n"));
    }
    out
}
