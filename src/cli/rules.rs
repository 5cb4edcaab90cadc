//! `acp-registry rules`

use acp_registry::check::RULES;
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
        let width = RULES.iter().map(|rule| rule.name.len()).max().unwrap_or_default();
        RULES.iter().map(|rule| format!("{:width$}  {:7}  {}\n", rule.name, rule.level, rule.summary)).collect()
    };
    ui.result(&text)?;
    Ok(Exit::Success)
}
