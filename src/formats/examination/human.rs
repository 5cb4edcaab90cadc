//! The results of an examination, for people: the checks that did not pass, and all counts.

use std::collections::BTreeMap;

use acp_registry::examination::{CheckVerdict, Examination, Level, VerdictCounts};
use acp_registry::text::printable;

use crate::terminal::excerpt::INDENT;
use crate::terminal::layout::Look;
use crate::terminal::plural;

/// A line with all counts, then the checks that did not pass.
pub(crate) fn examination(examination: &Examination, look: Look) -> String {
    let mut lines = vec![format!("  examined  {}", summary(examination))];
    for (verdict, code) in [(CheckVerdict::Fail, "31"), (CheckVerdict::Warning, "33")] {
        for examined in examination.checks.iter().filter(|examined| examined.verdict == verdict) {
            let (check, word) = (examined.check, look.paint(code, &format!("{:9}", verdict.as_str())));
            lines.push(format!("  {word} {} ({}, {})", check.id, check.force.as_str(), check.spec));
            lines.extend(examined.message.as_deref().map(|text| format!("{:INDENT$}{}", "", printable(text))));
        }
    }
    lines.iter().map(|line| look.wrap(line, INDENT)).collect()
}

/// Which requirements an agent that answers has not met, and how to have it refused for that; `None` if it has met all.
pub(crate) fn shortcoming(examination: &Examination) -> Option<String> {
    let mut failed = BTreeMap::<Level, usize>::new();
    for examined in examination.checks.iter().filter(|examined| examined.verdict == CheckVerdict::Fail) {
        *failed.entry(examined.check.level).or_default() += 1;
    }
    let refused = |what: String, level: Level| format!("{what}, which `--require {}` would refuse", level.as_str());
    let Some((highest, _)) = failed.last_key_value() else {
        return Some(refused(examination.shortfall(examination.level)?, examination.level));
    };
    let parts: Vec<String> = failed
        .iter()
        .map(|(level, count)| format!("{} of `{}`", plural(*count, "requirement"), level.as_str()))
        .collect();
    Some(refused(format!("{} failed", parts.join(" and ")), *highest))
}

fn summary(examination: &Examination) -> String {
    let VerdictCounts { passed, failed, warnings, not_exercised } = examination.summary();
    let (level, seconds) = (examination.level.as_str(), examination.duration.as_secs_f64());
    let why_none = examination.checks.iter().find_map(|examined| examined.message.as_deref()).unwrap_or_default();
    if passed + failed + warnings == 0 {
        return format!("up to `{level}`: no check was run: {}", printable(why_none));
    }
    format!(
        "up to `{level}`: {passed} passed, {failed} failed, {}, {not_exercised} not exercised in {seconds:.1} s",
        plural(warnings, "warning")
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use acp_registry::examination::{CHECKS, Examined};

    use super::*;

    #[test]
    fn what_was_not_met_is_counted_by_level_with_the_level_that_refuses_all_of_it() {
        let examined = |check: &&'static acp_registry::examination::Check| Examined {
            check,
            verdict: CheckVerdict::Pass,
            message: None,
            duration: Duration::ZERO,
        };
        let (level, duration) = (Level::Turns, Duration::ZERO);
        let checks = CHECKS.iter().filter(|check| check.level <= level).map(examined).collect();
        let mut whole =
            Examination { level, reached: Some(level), has_network: false, checks, duration, left: Vec::new() };
        assert_eq!(shortcoming(&whole), None);
        let unreached = Examination { reached: Some(Level::Protocol), ..whole.clone() };
        let text = "the agent could not be examined at the level `turns`, which `--require turns` would refuse";
        assert_eq!(shortcoming(&unreached).as_deref(), Some(text));
        let mut fail = |level, count| {
            let of_level = whole.checks.iter_mut().filter(|examined| examined.check.level == level);
            of_level.take(count).for_each(|examined| examined.verdict = CheckVerdict::Fail);
            shortcoming(&whole).unwrap()
        };
        let text = "2 requirements of `protocol` failed, which `--require protocol` would refuse";
        assert_eq!(fail(Level::Protocol, 2), text);
        let text =
            "2 requirements of `protocol` and 1 requirement of `turns` failed, which `--require turns` would refuse";
        assert_eq!(fail(Level::Turns, 1), text);
    }
}
