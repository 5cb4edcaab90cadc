//! `acp-registry rules` and `acp-registry explain`

use acp_registry::check::{Example, RULES, Rule, UnknownRule, WARNINGS, find};
use acp_registry::examination::{self, CHECKS, Check};
use acp_registry::failure::{Code, Exit, Failure};
use acp_registry::finding::Level;
use acp_registry::text::{nearest, printable};
use serde_json::{Value, json};

use crate::documents::Document;
use crate::flags::candidates;
use crate::flags::global::FormatArgs;
use crate::terminal::markdown::terminal;
use crate::terminal::table::{Columns, Last, table};
use crate::terminal::ui::Ui;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// List the checks that `probe` and `verify` run with `--level`
    #[arg(long)]
    examination: bool,

    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// Name of the rule or check, such as `icon/size` or `protocol/ids`
    #[arg(value_name = "RULE", add = candidates::explained())]
    rule: String,

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
fn rule_brief(rule: &Rule) -> Value {
    json!({ "rule": rule.name, "level": rule.level.as_str(), "summary": rule.summary })
}

/// A check with its summary.
fn check_brief(check: &Check) -> Value {
    json!({
        "check": check.id,
        "level": check.level(),
        "force": check.force,
        "spec": check.spec,
        "summary": check.summary,
    })
}

pub(crate) fn explain(args: &ExplainArgs, ui: &Ui) -> Result<Exit, Failure> {
    let files = |example: Example| {
        let files = example.files().into_iter();
        files.map(|(file, text)| json!({ "file": file, "text": text })).collect::<Value>()
    };
    let exchange = |text: &str| json!([{ "file": "exchange.txt", "text": text }]);
    let (mut members, why, fix, fails, passes, markdown) = match (find(&args.rule), examination::find(&args.rule)) {
        (Some(rule), _) => {
            (rule_brief(rule), rule.why, rule.fix, files(rule.fails), files(rule.passes), as_markdown(rule))
        }
        (None, Some(check)) => {
            let (fails, passes) = (exchange(&check.failing_exchange()), exchange(&check.passing_exchange()));
            (check_brief(check), check.why, check.fix, fails, passes, check_as_markdown(check))
        }
        (None, None) => return Err(unknown(&args.rule)),
    };
    for (name, value) in [("why", json!(why)), ("fix", json!(fix)), ("fails", fails), ("passes", passes)] {
        members[name] = value;
    }
    let is_json = args.format.is_json();
    let text = if is_json { Document::new("explain", members).to_text() } else { terminal(&markdown, ui.look()) };
    ui.result(&text)?;
    Ok(Exit::Success)
}

/// The failure for an unknown name. If it is the name of a group, the help lists the rules of the group.
fn unknown(name: &str) -> Failure {
    let group = name.trim_end_matches('*').trim_end_matches('/');
    let of_level: Vec<&str> =
        CHECKS.iter().filter(|check| check.level().as_str() == group).map(|check| check.id).collect();
    if !of_level.is_empty() {
        let failure = Failure::usage(UnknownRule { name: printable(name).into_owned(), suggestion: None });
        let help = format!("name a check of the level: {}", of_level.join(", "));
        return failure.code(Code::UnknownRule).help(help);
    }
    if name == WARNINGS {
        let failure = Failure::usage(format!("`{WARNINGS}` names all warnings, and is no rule"));
        return failure.code(Code::UnknownRule).help("run `acp-registry rules` to see all rules, with their levels");
    }
    let unknown = UnknownRule::new(name);
    let is_check = examination::Level::ALL.iter().any(|level| name.split('/').next() == Some(level.as_str()));
    if (is_check || unknown.suggestion.is_none())
        && let Some(near) = nearest(name, CHECKS.iter().map(|check| check.id))
    {
        return Failure::usage(UnknownRule { name: printable(name).into_owned(), suggestion: None })
            .code(Code::UnknownRule)
            .suggest(Some(near));
    }
    let rules: Vec<&str> = RULES.iter().filter(|rule| rule.group() == group).map(|rule| rule.name).collect();
    let is_near = unknown.suggestion.is_some();
    let failure = Failure::from(unknown);
    match rules.as_slice() {
        [] if is_near => failure,
        [] => failure
            .help("run `acp-registry rules` to see all rules, and `acp-registry rules --examination` for all checks"),
        rules => failure.help(format!("name a rule of the group: {}", rules.join(", "))),
    }
}

fn as_markdown(rule: &Rule) -> String {
    format!(
        "# {}\n\n{} (default level: {})\n\n## Why\n\n{}\n\n## What to do\n\n{}\n\n## Reported\n\n{}\n\n## Correct\n\n{}\n",
        rule.name,
        sentence(rule.summary),
        rule.level,
        rule.why,
        rule.fix,
        example(rule.fails),
        example(rule.passes),
    )
}

fn check_as_markdown(check: &Check) -> String {
    format!(
        "# {}\n\nPasses if the agent {} ({}, from the {} `{}`)\n\n## Why\n\n{}\n\n## What to do\n\n{}\n\n\
         ## Does not pass\n\n```text\n{}\n```\n\n## Passes\n\n```text\n{}\n```\n",
        check.id,
        check.summary,
        check.force.as_str(),
        if check.is_proposal() { "proposal" } else { "page" },
        check.spec,
        check.why,
        check.fix,
        check.failing_exchange(),
        check.passing_exchange(),
    )
}

/// Turns a summary into a sentence: capitalized, unless it begins with a file name, which is put in backticks.
fn sentence(summary: &str) -> String {
    let (first, rest) = summary.split_once(' ').unwrap_or((summary, ""));
    if first.contains('.') {
        return format!("`{first}` {rest}");
    }
    let mut characters = summary.chars();
    characters.next().into_iter().flat_map(char::to_uppercase).chain(characters).collect()
}

fn example(example: Example) -> String {
    let parts = example.excerpts().into_iter().map(|(name, text)| {
        let kind = name.rsplit('.').next().unwrap_or_default();
        format!("`{name}`\n\n```{kind}\n{text}\n```")
    });
    parts.collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checks_of_a_level_are_named() {
        for name in ["turns", "turns/*"] {
            let help = unknown(name).advice().unwrap();
            assert!(help.starts_with("name a check of the level: turns/"), "{help}");
        }
    }

    #[test]
    fn the_rules_of_a_group_are_named() {
        for name in ["icon", "icon/", "icon/*"] {
            let failure = unknown(name);
            assert_eq!(failure.to_string(), format!("there is no rule `{name}`"));
            let help = failure.advice().unwrap();
            let rules = help.strip_prefix("name a rule of the group: ").unwrap().split(", ");
            let expected: Vec<&str> =
                RULES.iter().map(|rule| rule.name).filter(|name| name.starts_with("icon/")).collect();
            assert_eq!(rules.collect::<Vec<_>>(), expected, "{name}");
        }
        assert_eq!(unknown("warnings").to_string(), "`warnings` names all warnings, and is no rule");
        assert_eq!(unknown("icon/sise").advice().as_deref(), Some("did you mean `icon/size`?"));
        assert_eq!(
            unknown("colour").advice().as_deref(),
            Some("run `acp-registry rules` to see all rules, and `acp-registry rules --examination` for all checks")
        );
        assert_eq!(unknown("protocl/version").advice().as_deref(), Some("did you mean `protocol/version`?"));
    }
}
