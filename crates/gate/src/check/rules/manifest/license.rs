use crate::check::rules::prelude::*;
use spdx::{Expression, ParseMode};

pub(crate) static RULE: Rule = Rule {
    name: "manifest/license",
    level: Level::Warning,
    summary: "the licence is neither an SPDX expression nor `proprietary`",
    why: "Catalogs group agents by licence; free text falls into no group.",
    fix: "Use an identifier from the SPDX licence list, an expression of several, or the word `proprietary`.",
    fails: Example::Manifest("\"license\": \"Apache 2.0\""),
    marks: "\"Apache 2.0\"",
    passes: Example::Manifest("\"license\": \"Apache-2.0\""),
    check: CheckFn::Manifest(check),
};

/// The value for agents without a public licence.
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
    // Deprecated identifiers, such as `AGPL-3.0`, are still in the SPDX list.
    let mode = ParseMode { allow_deprecated: true, allow_postfix_plus_on_gpl: true, ..ParseMode::STRICT };
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
        .or_else(|| by_words(license))
        .or_else(|| acp_registry_plan::text::nearest(&dashed, listed()))
}

/// Finds the identifier for a licence's name, such as `MIT License` or `Apache License, Version 2.0`.
fn by_words(license: &str) -> Option<&'static str> {
    let wanted = words(license);
    if wanted.is_empty() {
        return None;
    }
    let same = |license: &&spdx::License| {
        words(&license.name.replace('-', " ")) == wanted || words(license.full_name) == wanted
    };
    spdx::identifiers::LICENSES.iter().find(same).map(|license| license.name)
}

/// The significant words of a licence's name: without `License` and `Version`, and `2` for `v2.0`.
fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric() && c != '.').map(|word| {
        let word = word.trim_matches('.');
        let number = word.strip_prefix('v').filter(|number| number.starts_with(|c: char| c.is_ascii_digit()));
        let word = number.unwrap_or(word);
        word.strip_suffix(".0").unwrap_or(word)
    });
    let is_filler = |word: &&str| ["", "the", "license", "licence", "version", "v"].contains(word);
    words.filter(|word| !is_filler(word)).map(ToOwned::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_suggestion_is_an_expression() {
        for license in ["GPL-2.0+", "LGPL-2.1+", "MIT OR Apache-2.0", "AGPL-3.0"] {
            assert!(is_expression(license), "{license}");
        }
        for license in spdx::identifiers::LICENSES {
            assert!(is_expression(license.name), "{}", license.name);
        }
    }

    #[test]
    fn a_licence_that_was_written_out_is_known() {
        for (text, expected) in [
            ("MIT License", "MIT"),
            ("The MIT License", "MIT"),
            ("Apache License, Version 2.0", "Apache-2.0"),
            ("Apache License 2.0", "Apache-2.0"),
            ("Apache-2", "Apache-2.0"),
            ("BSD 3-Clause License", "BSD-3-Clause"),
            ("ISC License", "ISC"),
            ("Mozilla Public License Version 2.0", "MPL-2.0"),
            ("Apache 2.0", "Apache-2.0"),
        ] {
            assert_eq!(nearest(text), Some(expected), "{text}");
        }
        assert_eq!(nearest("All rights reserved by the company"), None);
        assert_eq!(nearest("License"), None);
    }
}
