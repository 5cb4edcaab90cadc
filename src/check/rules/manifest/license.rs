use spdx::{Expression, ParseMode};

use crate::check::reporter::Reporter;
use crate::check::rule::{Check, Example, Rule, Subject};
use crate::finding::Level;
use crate::text::quote;

pub(crate) static RULE: Rule = Rule {
    name: "manifest/license",
    level: Level::Warning,
    summary: "the licence is neither an SPDX expression nor `proprietary`",
    why: "Catalogs group agents by licence; a free text falls into no group.",
    fix: "Use an identifier of the SPDX licence list, an expression of several, or the word `proprietary`.",
    fails: Example::Manifest("\"license\": \"Apache 2.0\""),
    marks: "\"Apache 2.0\"",
    passes: Example::Manifest("\"license\": \"Apache-2.0\""),
    check: Check::Manifest(check),
};

/// The word for agents whose terms are their own.
const PROPRIETARY: &str = "proprietary";

fn check(subject: &Subject<'_>, report: &mut Reporter<'_>) {
    let Some(license) = subject.agent().license.as_deref() else { return };
    if license == PROPRIETARY || is_expression(license) {
        return;
    }
    let help = match nearest(license) {
        Some(identifier) => format!("did you mean `{identifier}`?"),
        None => format!("use an identifier of the SPDX licence list, or `{PROPRIETARY}`"),
    };
    report.value("/license", format!("{} is not an SPDX expression", quote(license))).help(help);
}

fn is_expression(license: &str) -> bool {
    // Deprecated identifiers, such as `AGPL-3.0`, are still on the list.
    let mode = ParseMode { allow_deprecated: true, ..ParseMode::STRICT };
    license.len() < 500 && Expression::parse_mode(license, mode).is_ok()
}

fn nearest(license: &str) -> Option<&'static str> {
    let license = license.trim();
    if license.len() > 100 {
        return None;
    }
    if license.eq_ignore_ascii_case(PROPRIETARY) || license.eq_ignore_ascii_case("commercial") {
        return Some(PROPRIETARY);
    }
    let dashed = license.replace([' ', '_'], "-");
    let listed = || spdx::identifiers::LICENSES.iter().map(|license| license.name);
    listed()
        .find(|name| name.eq_ignore_ascii_case(&dashed))
        .or_else(|| {
            spdx::imprecise_license_id(license).filter(|(_, length)| *length == license.len()).map(|(id, _)| id.name)
        })
        .or_else(|| crate::text::nearest(&dashed, listed()))
}
