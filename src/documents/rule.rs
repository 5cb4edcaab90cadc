use acp_registry::check;
use serde::Serialize;

/// Members of `rules`.
#[derive(Debug, Serialize)]
pub(crate) struct Rules {
    rules: Vec<Brief>,
}

/// A rule with its level and summary.
#[derive(Debug, Serialize)]
pub(crate) struct Brief {
    rule: &'static str,
    level: &'static str,
    summary: &'static str,
}

impl Rules {
    /// Lists the rules.
    #[must_use]
    pub(crate) fn of(rules: &[&'static check::Rule]) -> Self {
        Self { rules: rules.iter().map(|rule| Brief::of(rule)).collect() }
    }
}

impl Brief {
    fn of(rule: &check::Rule) -> Self {
        Self { rule: rule.name, level: rule.level.as_str(), summary: rule.summary }
    }
}

/// Members of `explain` for a rule.
#[derive(Debug, Serialize)]
pub(crate) struct Explanation {
    #[serde(flatten)]
    rule: Brief,
    why: &'static str,
    fix: &'static str,
    fails: Vec<ExampleFile>,
    passes: Vec<ExampleFile>,
}

/// A file of an example.
#[derive(Debug, Serialize)]
pub(crate) struct ExampleFile {
    file: &'static str,
    text: String,
}

impl Explanation {
    /// Explains a rule.
    #[must_use]
    pub(crate) fn of(rule: &check::Rule) -> Self {
        let files = |example: check::Example| {
            let files = example.files().into_iter();
            files.map(|(name, text)| ExampleFile { file: name, text }).collect()
        };
        Self {
            rule: Brief::of(rule),
            why: rule.why,
            fix: rule.fix,
            fails: files(rule.fails),
            passes: files(rule.passes),
        }
    }
}
