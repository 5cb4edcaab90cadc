//! Groups equal findings, so that each group is shown once.

use std::borrow::Cow;
use std::collections::BTreeMap;

use acp_registry::finding::{Finding, Level};

/// The largest group whose findings are all shown.
const SINGLE: usize = 3;

/// What equal findings have in common: rule, level, message and help.
pub(crate) type FindingKey<'a> = (&'a str, Level, Cow<'a, str>, Option<String>);

pub(crate) fn key(finding: &Finding) -> FindingKey<'_> {
    // A broken network is one problem, whatever the URLs are; so is a wrong tag, whatever the files are.
    let has_names = ["url/", "github/"].iter().any(|group| finding.rule.starts_with(group));
    let message: Cow<'_, str> = if has_names {
        finding.message.split('`').step_by(2).collect::<Vec<_>>().join("`").into()
    } else {
        finding.message.as_str().into()
    };
    (finding.rule, finding.level, message, finding.help.clone())
}

/// Groups equal findings, within one file or across files. Groups of up to three are left out, since their findings are
/// shown one by one.
pub(crate) fn equal<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> BTreeMap<FindingKey<'a>, Vec<&'a Finding>> {
    let mut groups: BTreeMap<FindingKey<'_>, Vec<&Finding>> = BTreeMap::new();
    for finding in findings {
        groups.entry(key(finding)).or_default().push(finding);
    }
    groups.retain(|_, group| group.len() > SINGLE);
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_findings_of_one_file_are_one_group() {
        let finding = |file: &str, message: String| Finding {
            rule: "github/asset-not-found",
            level: Level::Error,
            agent: Some("a".to_owned()),
            file: file.to_owned(),
            span: None,
            pointer: None,
            message,
            help: Some("correct the tag".into()),
            fix: None,
        };
        let missing = |name: &str| finding("a/agent.json", format!("the release `v1` has no file `{name}`"));
        let mut findings: Vec<Finding> = ["w", "x", "y", "z"].map(missing).to_vec();
        assert_eq!(equal(&findings).values().map(Vec::len).collect::<Vec<_>>(), [4]);
        findings[0].help = None;
        assert!(equal(&findings).is_empty());
    }
}
