//! `/docs/rules/`: the documentation of the rules, generated from the rules.

use super::pages::{Frame, RuleGroup, Rules, ShownExample, ShownRule, Site};
use acp_registry_gate::check::{RULES, Rule};

pub(super) fn page(site: &Site) -> Rules<'_> {
    let mut groups: Vec<RuleGroup> = Vec::new();
    for rule in RULES {
        match groups.last_mut().filter(|group| group.name == rule.group()) {
            Some(group) => group.rules.push(shown(rule)),
            None => groups.push(RuleGroup { name: rule.group(), rules: vec![shown(rule)] }),
        }
    }
    let description = "What is checked in a registry of ACP agents, why, and what to do about each finding.";
    Rules { f: Frame::new(site, "docs/rules/", "Rules – ACP agents", description), rule_groups: groups }
}

fn shown(rule: &Rule) -> ShownRule {
    let fails = rule.fails.excerpts().into_iter().map(|(file, text)| (format!("Reported, in {file}"), text));
    let passes = rule.passes.excerpts().into_iter().map(|(file, text)| (format!("Passes, in {file}"), text));
    ShownRule {
        id: rule.name.replace('/', "-"),
        name: rule.name,
        level: rule.level.as_str(),
        summary: rule.summary,
        why: rule.why,
        fix: rule.fix,
        examples: fails.chain(passes).map(|(title, text)| ShownExample { title, text }).collect(),
    }
}
