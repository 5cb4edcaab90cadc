//! `acp-registry rules`

use acp_registry::check::{RULES, Rule};
use acp_registry::examination::{CHECKS, Check};
use acp_registry::finding::Level;
use serde_json::{Value, json};

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
        let rules: Value = RULES.iter().map(|rule| rule_brief(rule)).collect();
        Document::new("rules", json!({ "rules": rules })).to_text()
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
        let checks: Value = CHECKS.iter().map(|check| check_brief(check)).collect();
        return Document::new("rules", json!({ "checks": checks })).to_text();
    }
    let rows: Vec<[&str; 3]> = CHECKS.iter().map(|check| [check.id, check.force.as_str(), check.summary]).collect();
    table(
        &Columns { last: Last::Text, ..Columns::plain(&["check", "force", "passes an agent that"]) },
        &rows,
        ui.look(),
    )
}

/// A rule with its level and summary.
pub(crate) fn rule_brief(rule: &Rule) -> Value {
    json!({ "rule": rule.name, "level": rule.level.as_str(), "summary": rule.summary })
}

/// A check with its summary.
pub(crate) fn check_brief(check: &Check) -> Value {
    json!({
        "check": check.id,
        "level": check.level(),
        "force": check.force,
        "spec": check.spec,
        "summary": check.summary,
    })
}
