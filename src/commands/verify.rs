//! `acp-registry verify`

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use acp_registry::closures::ClosureChange;
use acp_registry::duration;
use acp_registry::examination::Demand;
use acp_registry::failure::{Exit, Failure};
use acp_registry::install::Kind;
use acp_registry::manifest::Channel;
use acp_registry::registry::Registry;
use acp_registry::select::{AgentFilter, are_all_withdrawn, load_active};
use acp_registry::text::{cell, plural, printable, prose, quote};
use acp_registry::verify::{
    Job, Merged, NewClosures, Nothing, Row, RowCounts, Selection, Shard, ShardFile, State, TaskVerdict, Verified,
    VerifyRequest, lacks_package_managers, merge_files, sources_down,
};
use clap::ValueEnum as _;
use serde::Serialize;
use serde_json::{Value, json};

use crate::commands::verifier;
use crate::documents::Document;
use crate::flags::global::{Global, configured_levels, prefix};
use crate::flags::level::{LevelArgs, with_note};
use crate::flags::report::{ReportArgs, ReportFiles};
use crate::flags::verifier::{VerifierArgs, VerifierSettings};
use crate::flags::{candidates, value};
use crate::formats::examination::{self, Examinee, examination};
use crate::formats::outcome::{found, isolation, outcome};
use crate::formats::{Format, junit};
use crate::terminal::layout::{INDENT, Look, cut, stderr};
use crate::terminal::similar_messages::alike;
use crate::terminal::table::{Columns, table};
use crate::terminal::ui::Ui;

#[derive(Debug, clap::Args)]
// `probe` has these flags as well, and no configuration.
#[command(
    mut_arg("require", |flag| with_note(flag, "The default is `require` below `[examine]` in registry.toml.")),
    mut_arg("examination_timeout", |flag| {
        with_note(flag, "`timeout` below `[examine]` in registry.toml sets another default.")
    })
)]
pub(crate) struct Args {
    /// Agents to check [default: all that are not in quarantine]
    #[arg(value_name = "ID", add = candidates::checked_out())]
    ids: Vec<String>,

    /// Check only agents that differ from a git revision
    #[arg(long, value_name = "REF", conflicts_with = "ids")]
    changed_since: Option<String>,

    /// Check only this kind of distribution (repeatable)
    ///
    /// The default is every kind that this machine can run.
    #[arg(long, value_name = "KIND", value_parser = value::kind())]
    dist: Vec<Kind>,

    /// Check one of N parts, which take about the same time
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,

    /// Write what the agents can do to this file
    ///
    /// Rows of agents that are not checked stay.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Merge the files of parts into that of --out (repeatable)
    ///
    /// No agent is started.
    #[arg(
        long, value_name = "I/N=FILE", value_parser = value::shard_file, requires = "out",
        conflicts_with_all = ["ids", "changed_since", "shard", "reuse", "keep_sandboxes"]
    )]
    merge: Vec<ShardFile>,

    /// Take rows of unchanged agents from this file, which an earlier `--out` has written
    ///
    /// A row is taken if the agent passed, and its version and distribution are the same.
    #[arg(long, value_name = "FILE")]
    reuse: Option<PathBuf>,

    /// How old a reused row may be [default: 7d]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, requires = "reuse")]
    reuse_max_age: Option<Duration>,

    /// Keep what was installed and written, in this directory
    #[arg(long, value_name = "DIR")]
    keep_sandboxes: Option<PathBuf>,

    #[command(flatten)]
    level: LevelArgs,

    /// Write `package-lock.json` or `requirements.txt` beside the manifest of each agent that passes
    ///
    /// These lists of all packages are made by npm or uv, for each version that has none. Clients install exactly what a list
    /// names.
    #[arg(long, conflicts_with = "merge")]
    closures: bool,

    /// Send nothing after `initialize`
    #[arg(long)]
    no_probe: bool,

    /// Use no cache, and leave nothing in one
    #[arg(long)]
    no_cache: bool,

    #[command(flatten)]
    pub(crate) report: ReportArgs,

    #[command(flatten)]
    verifier: VerifierArgs,
}

pub(crate) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let started = Instant::now();
    let files = args.report.files(args.out.as_deref())?;
    let config = global.config()?;
    // No rule is checked, but a mistake in the file would be found by the next command.
    configured_levels(&config, &global.config_file(&global.registry_dir()))?;
    let allowed = global.allowed_hosts()?;
    let examine = &config.examine;
    let demand = args
        .level
        .demand((examine.require, examine.timeout), args.no_probe, false)?
        .with_recipes(examine.recipes.clone());
    let registry = load_active(&global.registry_dir(), &config, &args.ids)?;
    let (mut request, now) = (request(args, &demand), SystemTime::now());
    if let (false, Some(out)) = (args.merge.is_empty(), &args.out) {
        return merge(args, (out, files), &registry, &request.selection(&registry, now)?, ui);
    }
    let advisories = verifier::all_advisories((&config, &allowed), &registry, !args.no_cache, ui)?;
    let settings = VerifierSettings {
        allowed: &allowed,
        config: &config,
        probes: !args.no_probe,
        use_cache: !args.no_cache,
        demand: &demand,
    };
    // What is tested is what people will get.
    let mut lists = Vec::new();
    if args.closures {
        let selection = request.selection(&registry, now)?;
        let is_selected = |id: &str| selection.ids.as_ref().is_none_or(|ids| ids.contains(id));
        let folders = registry.entries.iter().filter(|folder| is_selected(&folder.id));
        let agents: Vec<_> = folders.filter_map(|one| Some((one.id.as_str(), one.manifest.present()?))).collect();
        lists = verifier::make_closures(&args.verifier, settings, (&registry, &advisories), &agents, ui)?;
        request.closures = lists.iter().filter_map(ClosureChange::published).collect();
    }
    let mut job = Job::prepare(&registry, &request, now)?;
    if let Some(error) = job.not_reused() {
        ui.note(&format!("nothing is reused: {error}"));
    }
    job.refuse_malicious(&registry, &advisories);
    let finished = steps(job.tasks().len(), ui);
    let Verified { rows, unwritten, nothing } = verifier::run(&args.verifier, settings, job, &finished, ui)?;
    let nothing = nothing.map(|nothing| match nothing {
        Nothing::NoAgents if are_all_withdrawn(&registry, &config) => Nothing::Withdrawn,
        other => other,
    });

    let passed = passed(&rows);
    lists.retain(|list| passed.contains(list.id.as_str()));
    verifier::write_closures(&mut lists, &registry, ui);
    let unlisted: Vec<Failure> =
        lists.iter().filter_map(|list| Some(list.done.as_ref().err()?.failure(&list.file))).collect();
    let duration = started.elapsed();
    let examinees = || {
        let prefix = prefix(&registry.root);
        rows.iter().map(|row| Examinee::from_row(row, &prefix)).collect::<Vec<_>>()
    };
    let failures = failures(&rows);
    let findings = rows.iter().filter(|row| row.is_finding()).count();
    let failure = failures.first().cloned().or_else(|| {
        let of = format!("{findings} of {}", plural(rows.len(), "distribution"));
        let failure = || Failure::findings(format!("{of} did not pass")).help("see `message` of each result");
        (findings > 0).then(failure).or_else(|| Failure::worst(&unlisted).cloned())
    });
    files.write(ui, &mut |format, look| match (format, &nothing) {
        (Format::Json, _) => verify_document(&rows, duration).failed(failure.clone()).to_text(),
        (Format::Junit, _) => junit::by_agent(&examinees()),
        (Format::Sarif, _) => examination::sarif(&examinees()),
        (Format::Github, _) => examination::github(&examinees()),
        (Format::Human | Format::Markdown, Some(nothing)) => format!("no agents to verify: {}\n", why(nothing)),
        (Format::Markdown, None) => verify_markdown(&rows, duration),
        (Format::Human, None) => verify(&rows, duration, look),
    })?;
    if let Some(error) = unwritten {
        return Err(error.unwritable("--out"));
    }
    if !failures.is_empty() {
        for failure in &failures {
            ui.failure(failure);
        }
        return Ok(Exit::Unable);
    }
    Ok(failure.as_ref().map_or(Exit::Success, Failure::exit))
}

/// The agents that passed in their stable version: those whose closures are written.
fn passed(rows: &[Row]) -> BTreeSet<String> {
    let stable = || rows.iter().filter(|row| row.channel == Channel::Stable);
    let is_failed = |id: &str| stable().any(|row| row.id == id && row.is_finding());
    stable().map(|row| row.id.clone()).filter(|id| !is_failed(id)).collect()
}

/// Why agents were not checked, if the cause is this machine or its network.
fn failures(rows: &[Row]) -> Vec<Failure> {
    if lacks_package_managers(rows) {
        return vec![verifier::missing_package_managers()];
    }
    let down = sources_down(rows);
    let failures = down.iter().map(|origin| {
        Failure::unable(format!(
            "{origin} could not be reached: its agents were not checked; run `verify` again when it answers"
        ))
    });
    failures.collect()
}

fn request(args: &Args, demand: &Demand) -> VerifyRequest {
    VerifyRequest {
        agents: AgentFilter::new(args.ids.iter().cloned(), args.changed_since.clone()),
        kinds: args.dist.clone(),
        shard: args.shard,
        reuse: args.reuse.clone(),
        reuse_max_age: args.reuse_max_age,
        demand: demand.clone(),
        out: args.out.clone(),
        closures: NewClosures::new(),
        keep: args.keep_sandboxes.clone(),
    }
}

/// Merges the snapshots of parts into `out`.
fn merge(
    args: &Args,
    (out, files): (&Path, ReportFiles),
    registry: &Registry,
    selection: &Selection,
    ui: &Ui,
) -> Result<Exit, Failure> {
    if let Some(format) =
        files.formats().find(|format| matches!(format, Format::Sarif | Format::Junit | Format::Github))
    {
        let name = format.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        let failure = Failure::usage(format!("--merge has no result in the form {name}"));
        return Err(failure.help("name human, markdown or json"));
    }
    let missing = |part: &ShardFile| {
        ui.warning(&format!("part {} has no file {}", part.shard, part.path.display()));
    };
    let merged = merge_files(registry, selection, &args.merge, out, &missing)?;
    files.write(ui, &mut |format, _| match format {
        Format::Json => merged_document(&merged).to_text(),
        _ => merged_text(&merged, args.merge.len()),
    })?;
    Ok(Exit::Success)
}

/// Prints a line for each finished agent, for use without a progress display.
pub(crate) fn steps(total: usize, ui: &Ui) -> impl Fn(&Row) {
    let count = Cell::new(0);
    move |row| {
        count.set(count.get() + 1);
        ui.step(&verified_one(row, count.get(), total));
    }
}

/// Counts the rows that were merged, and lists the agents without a result, for people.
pub(crate) fn merged_text(merged: &Merged, parts: usize) -> String {
    let mut text = format!("{} from {}\n", plural(merged.taken, "row"), plural(parts, "part"));
    for one in &merged.unknown {
        let (name, reason) = (format!("{} ({})", one.id, one.distribution), &one.reason);
        text.push_str(&match (reason.as_str(), one.is_kept) {
            ("no_row", true) => format!("{name} has no row in its part; the earlier row stays\n"),
            ("no_row", false) => format!("{name} has no row in its part, and no earlier one\n"),
            (_, true) => format!("{name} was not started: {reason}; the earlier row stays\n"),
            (_, false) => format!("{name} was not started: {reason}; it has no earlier row\n"),
        });
    }
    text
}

/// Returns the JSON document.
pub(crate) fn merged_document(merged: &Merged) -> Document<'_, Value> {
    let unknown = merged.unknown.iter().map(|one| {
        json!({
            "id": one.id,
            "distribution": one.distribution,
            "reason": one.reason,
            "has_row": one.is_kept,
        })
    });
    let unknown: Value = unknown.collect();
    Document::new("verify", json!({ "merged": { "taken": merged.taken, "unknown": unknown } }))
}

/// Index of the column with verdicts.
const VERDICT: usize = 3;

/// Indexes of the columns with numbers.
const NUMBERS: [usize; 2] = [5, 6];

const HEAD: [&str; 7] = ["agent", "version", "dist", "verdict", "reason", "install s", "answer s"];

/// Renders the rows as a table, followed by details of failures.
pub(crate) fn verify(rows: &[Row], duration: Duration, look: Look) -> String {
    let cells: Vec<[String; 7]> = rows.iter().map(cells).collect();
    let paint = |row: usize, column: usize| (column == VERDICT).then(|| code(rows[row].verdict()));
    let of = Columns { numbers: &NUMBERS, paint: &paint, ..Columns::plain(&HEAD) };
    let mut out = table(&of, &cells, look);
    let told: Vec<&Row> = rows.iter().filter(|row| has_details(row)).collect();
    let messages: Vec<(&str, String)> =
        told.iter().enumerate().map(|(at, row)| (row.id.as_str(), sameness(at, row))).collect();
    for shown in alike(&messages) {
        out.push('\n');
        out.push_str(&details(told[shown.at], look));
        if let Some(others) = shown.others {
            out.push_str(&look.wrap(&format!("  {others}"), INDENT));
        }
    }
    let end = format!("{}{}", notes(rows), summary(rows, duration));
    out.push('\n');
    out.extend(end.lines().map(|line| look.wrap(line, 2)));
    out
}

/// Returns the JSON document.
pub(crate) fn verify_document(rows: &[Row], duration: Duration) -> Document<'static, VerifyDocument> {
    let mut summary = json!(RowCounts::of(rows));
    summary["duration_seconds"] = json!(duration.as_secs_f64());
    Document::new("verify", VerifyDocument { results: rows.iter().map(Row::to_json).collect(), summary })
}

/// Members of `verify`.
#[derive(Debug, Serialize)]
pub(crate) struct VerifyDocument {
    /// One row per distribution, in the form of a snapshot.
    results: Vec<Value>,
    summary: Value,
}

/// Why there are no agents to process.
pub(crate) fn why(nothing: &Nothing) -> String {
    match nothing {
        Nothing::NoAgents => "the registry has none; `acp-registry new` adds one".to_owned(),
        Nothing::Withdrawn => {
            "registry.toml withdraws all of them; remove an entry below `[withdrawn]` to publish it again".to_owned()
        }
        Nothing::Unchanged(revision) => format!("none has changed since {}", quote(revision)),
        Nothing::OtherKinds { kinds, is_of_changed } => {
            let of = if *is_of_changed { "none of those that have changed" } else { "none" };
            format!("{of} has a distribution {}", kinds.join(" or "))
        }
        Nothing::EmptyShard(shard) => format!("part {shard} has none"),
        Nothing::NotSelected => "none was selected".to_owned(),
    }
}

/// Renders a row as one line of progress: the `number`th result of `total`.
pub(crate) fn verified_one(row: &Row, number: usize, total: usize) -> String {
    let verdict = if matches!(row.state, State::Reused(_)) { "reused" } else { row.verdict().as_str() };
    let verdict = row.reason().map_or_else(|| verdict.to_owned(), |reason| format!("{verdict}, {reason}"));
    format!("{number} of {total}: {} ({}) {verdict}", printable(&row.id), row.distribution())
}

/// Renders the table and the details as Markdown for a comment on GitHub.
pub(crate) fn verify_markdown(rows: &[Row], duration: Duration) -> String {
    let mut out =
        format!("### Agents: {}\n\n| {} |\n|{}\n", summary(rows, duration), HEAD.join(" | "), "---|".repeat(7));
    for row in rows {
        let _ = writeln!(out, "| {} |", cells(row).map(|text| cell(&prose(&text))).join(" | "));
    }
    for row in rows.iter().filter(|row| has_details(row)) {
        // Markdown shows lines indented by four spaces literally.
        let text: String = details(row, Look::default()).lines().map(|line| format!("    {line}\n")).collect();
        let _ = write!(out, "\n{text}");
    }
    let _ = write!(out, "\n{}", notes(rows));
    out
}

/// Describes how agents were isolated, and explains `flaky` if any row is.
fn notes(rows: &[Row]) -> String {
    let names: BTreeSet<&str> = rows.iter().filter_map(Row::isolation).collect();
    let mut out = String::new();
    for name in &names {
        let ids: BTreeSet<&str> =
            rows.iter().filter(|row| row.isolation() == Some(name)).map(|row| row.id.as_str()).collect();
        // If all agents were isolated in one way, there is no need to list them.
        let ids = if names.len() > 1 { format!(" ({})", cut(&Vec::from_iter(ids).join(", "))) } else { String::new() };
        let _ = writeln!(out, "isolation: {}{ids}", isolation(name));
    }
    if rows.iter().any(Row::is_flaky) {
        out.push_str("flaky: passed only when it was started again, while no other agent ran\n");
    }
    out
}

fn summary(rows: &[Row], duration: Duration) -> String {
    let RowCounts { passed, failed, errors, skipped, reused, held } = RowCounts::of(rows);
    let seconds = duration.as_secs_f64();
    let held = if held > 0 { format!(", {held} still held") } else { String::new() };
    format!(
        "{passed} passed, {failed} failed, {}, {skipped} skipped, {reused} reused{held} in {seconds:.1} s",
        plural(errors, "error")
    )
}

fn has_details(row: &Row) -> bool {
    has_trouble(row) || row.examination().is_some()
}

/// Whether the row has details other than an examination.
fn has_trouble(row: &Row) -> bool {
    row.verdict() != TaskVerdict::Pass
        || row.advice().is_some()
        || row.setup_required().is_some()
        || !row.scripts_not_run.is_empty()
}

/// A key that is equal for rows with the same problem. A row whose agent was started has a key of its own.
fn sameness(at: usize, row: &Row) -> String {
    match (&row.state, row.explanation()) {
        (State::Checked { .. } | State::Reused(_), _) | (_, None) => at.to_string(),
        (_, Some(message)) => format!("{} {} {message}", row.verdict().as_str(), row.reason().unwrap_or_default()),
    }
}

fn cells(row: &Row) -> [String; 7] {
    let seconds = |time: Option<Duration>| time.map_or_else(String::new, |time| format!("{:.1}", time.as_secs_f64()));
    let (verdict, answer) = match &row.state {
        State::Checked { outcome, .. } => (row.verdict().as_str(), outcome.timing.start_to_response),
        State::Reused(_) => ("reused", None),
        _ => (row.verdict().as_str(), None),
    };
    let install = Some(row.install).filter(|time| !time.is_zero());
    [
        cut(&row.id),
        cut(&row.version),
        row.distribution().to_owned(),
        verdict.to_owned(),
        note(row).to_owned(),
        seconds(install),
        seconds(answer),
    ]
}

/// The reason why a row did not pass; otherwise what its agent needs or did.
fn note(row: &Row) -> &'static str {
    let other = if row.is_flaky() { "flaky" } else { "" };
    row.reason().or_else(|| row.setup_required().map(|_| "setup_required")).unwrap_or(other)
}

fn code(verdict: TaskVerdict) -> &'static str {
    match verdict {
        TaskVerdict::Pass => "32",
        TaskVerdict::Fail | TaskVerdict::Error => "31",
        TaskVerdict::Skipped => "33",
    }
}

fn details(row: &Row, look: Look) -> String {
    let mut out = match &row.state {
        State::Checked { outcome: checked, .. } if has_trouble(row) => {
            outcome(checked, row.examination(), &name(row), look)
        }
        _ => state(row, look) + &row.examination().map(|found| examination(found, look)).unwrap_or_default(),
    };
    let mut more = String::new();
    if !row.scripts_not_run.is_empty() {
        let _ = writeln!(more, "  scripts   {}", row.scripts_not_run.message());
    }
    if let (Some(held), Some(advice)) = (&row.held, row.advice()) {
        let _ = write!(more, "  held      {}\n            {}\n", cut(&held.hold.reason), printable(&advice));
    }
    out.extend(more.lines().map(|line| look.wrap(line, INDENT)));
    out
}

fn name(row: &Row) -> String {
    format!("{} {} ({})", row.id, row.version, row.distribution())
}

fn state(row: &Row, look: Look) -> String {
    let mut out = format!("{}: {}\n", found(row.verdict().as_str(), row.examination()), cut(&name(row)));
    if let (Some(reason), Some(message)) = (row.reason(), row.explanation()) {
        let _ = write!(out, "  reason    {reason}\n            {}\n", printable(&message));
    }
    if let Some(words) = row.setup_required() {
        let _ = write!(
            out,
            "  setup     it opens no session before it is set up, in its own words:\n            | {}\n",
            printable(words)
        );
    }
    if let State::NotStarted(why) = &row.state
        && !why.stderr.trim().is_empty()
    {
        out.push_str(&stderr(&why.stderr));
    }
    out.lines().map(|line| look.wrap(line, INDENT)).collect()
}
