//! `acp-registry explain`

use acp_registry::check::{Example, RULES, Rule, UnknownRule, find};
use acp_registry::report::terminal;
use serde_json::{Value, json};

use super::candidates;
use super::exit::{Exit, Failure};
use super::global::FormatArgs;
use super::ui::Ui;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Name of the rule, such as `icon/size`
    #[arg(value_name = "RULE", add = candidates::rules())]
    rule: String,

    #[command(flatten)]
    pub(super) format: FormatArgs,
}

pub(super) fn run(args: &Args, ui: &Ui) -> Result<Exit, Failure> {
    let rule = find(&args.rule).ok_or_else(|| unknown(&args.rule))?;
    let text = if args.format.is_json() { as_json(rule) } else { terminal(&as_markdown(rule), ui.look()) };
    ui.result(&text)?;
    Ok(Exit::Success)
}

/// A group has several explanations, of which one is to be named.
fn unknown(name: &str) -> Failure {
    let group = name.trim_end_matches('*').trim_end_matches('/');
    let rules: Vec<&str> = RULES.iter().filter(|rule| rule.group() == group).map(|rule| rule.name).collect();
    let failure = Failure::from(UnknownRule::new(name));
    if rules.is_empty() { failure } else { failure.help(format!("name a rule of the group: {}", rules.join(", "))) }
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

fn as_json(rule: &Rule) -> String {
    acp_registry::json::to_string(&json!({
        "schema": 1,
        "command": "explain",
        "rule": rule.name,
        "level": rule.level.as_str(),
        "summary": rule.summary,
        "why": rule.why,
        "fix": rule.fix,
        "fails": files(rule.fails),
        "passes": files(rule.passes),
    }))
}

/// A summary as the beginning of a text: with a capital, unless a file's name begins it.
fn sentence(summary: &str) -> String {
    let (first, rest) = summary.split_once(' ').unwrap_or((summary, ""));
    if first.contains('.') {
        return format!("`{first}` {rest}");
    }
    let mut characters = summary.chars();
    characters.next().into_iter().flat_map(char::to_uppercase).chain(characters).collect()
}

fn files(example: Example) -> Value {
    example.files().into_iter().map(|(name, text)| json!({ "file": name, "text": text })).collect()
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
        assert_eq!(unknown("icon/sise").advice().as_deref(), Some("did you mean `icon/size`?"));
        assert_eq!(unknown("colour").advice().as_deref(), Some("run `acp-registry rules` to see all rules"));
    }
}
