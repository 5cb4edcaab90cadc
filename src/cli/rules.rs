//! `acp-registry rules`

use acp_registry::check::RULES;
use acp_registry::finding::Level;
use acp_registry::report::{Columns, Last, table};
use serde_json::{Value, json};

use super::exit::{Exit, Failure};
use super::global::FormatArgs;
use super::ui::Ui;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    pub(super) format: FormatArgs,
}

pub(super) fn run(args: &Args, ui: &Ui) -> Result<Exit, Failure> {
    let text = if args.format.is_json() {
        let rules = RULES
            .iter()
            .map(|rule| json!({ "rule": rule.name, "level": rule.level.as_str(), "summary": rule.summary }));
        acp_registry::json::to_string(
            &json!({ "schema": 1, "command": "rules", "rules": rules.collect::<Vec<Value>>() }),
        )
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
