//! `acp-registry rules`

use acp_registry::check::{RULES, Rule};
use acp_registry::examination::{self, CHECKS, Check, Force};
use acp_registry::finding::Level;
use serde::Serialize;

use crate::documents::Document;
use crate::flags::global::FormatArgs;
use crate::terminal::table::{Columns, Last, table};
use crate::terminal::ui::Ui;
use acp_registry::failure::{Exit, Failure};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// List the checks that `probe` and `verify` run with `--level`
    #[arg(long)]
    examination: bool,

    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, Failure> {
    if args.examination {
        ui.result(&checks(args, ui))?;
        return Ok(Exit::Success);
    }
    let text = if args.format.is_json() {
        Document::new("rules", Rules { rules: RULES.iter().map(|rule| RuleBrief::of(rule)).collect() }).to_text()
    } else {
        let rows: Vec<[&str; 3]> = RULES.iter().map(|rule| [rule.name, rule.level.as_str(), rule.summary]).collect();
        let paint = |row: usize, column: usize| {
            (column == 1).then(|| if RULES[row].level == Level::Error { "31" } else { "33" })
        };
        table(
            &Columns { last: Last::Text, paint: &paint, ..Columns::plain(&["rule", "level", "reports"]) },
            &rows,
            ui.look(),
        )
    };
    ui.result(&text)?;
    Ok(Exit::Success)
}

fn checks(args: &Args, ui: &Ui) -> String {
    if args.format.is_json() {
        return Document::new("rules", Checks { checks: CHECKS.iter().map(|check| CheckBrief::of(check)).collect() })
            .to_text();
    }
    let rows: Vec<[&str; 3]> = CHECKS.iter().map(|check| [check.id, check.force.as_str(), check.summary]).collect();
    table(
        &Columns { last: Last::Text, ..Columns::plain(&["check", "force", "passes an agent that"]) },
        &rows,
        ui.look(),
    )
}

/// Members of `rules`.
#[derive(Debug, Serialize)]
struct Rules {
    rules: Vec<RuleBrief>,
}

/// A rule with its level and summary.
#[derive(Debug, Serialize)]
pub(crate) struct RuleBrief {
    rule: &'static str,
    level: &'static str,
    summary: &'static str,
}

impl RuleBrief {
    pub(crate) fn of(rule: &Rule) -> Self {
        Self { rule: rule.name, level: rule.level.as_str(), summary: rule.summary }
    }
}

/// Members of `rules --examination`.
#[derive(Debug, Serialize)]
struct Checks {
    checks: Vec<CheckBrief>,
}

/// A check with its summary.
#[derive(Debug, Serialize)]
pub(crate) struct CheckBrief {
    check: &'static str,
    level: examination::Level,
    force: Force,
    spec: &'static str,
    summary: &'static str,
}

impl CheckBrief {
    pub(crate) fn of(check: &Check) -> Self {
        Self { check: check.id, level: check.level(), force: check.force, spec: check.spec, summary: check.summary }
    }
}
