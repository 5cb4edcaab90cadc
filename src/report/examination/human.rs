//! The results of an examination, for people: the checks that did not pass, and all counts.

use acp_registry_core::text::printable;
use acp_registry_examine::examination::{Examination, Summary, Verdict};

use super::super::layout::Look;
use super::super::outcome::INDENT;
use super::super::plural;

/// A line with all counts, then the checks that did not pass.
#[must_use]
pub fn examination(examination: &Examination, look: Look) -> String {
    let mut lines = vec![format!("  examined  {}", summary(examination))];
    for (verdict, code) in [(Verdict::Fail, "31"), (Verdict::Warning, "33")] {
        for examined in examination.checks.iter().filter(|examined| examined.verdict == verdict) {
            let (check, word) = (examined.check, look.paint(code, &format!("{:9}", verdict.as_str())));
            lines.push(format!("  {word} {} ({}, {})", check.id, check.force.as_str(), check.spec));
            lines.extend(examined.message.as_deref().map(|text| format!("{:INDENT$}{}", "", printable(text))));
        }
    }
    lines.iter().map(|line| look.wrap(line, INDENT)).collect()
}

fn summary(examination: &Examination) -> String {
    let Summary { passed, failed, warnings, not_exercised } = examination.summary();
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
