use acp_registry::examination::{Check, Force, Level};
use serde::Serialize;

/// Members of `rules --examination`.
#[derive(Debug, Serialize)]
pub(crate) struct Checks {
    checks: Vec<Brief>,
}

/// A check with its summary.
#[derive(Debug, Serialize)]
struct Brief {
    check: &'static str,
    level: Level,
    force: Force,
    spec: &'static str,
    summary: &'static str,
}

impl Checks {
    /// Lists the checks.
    #[must_use]
    pub(crate) fn of(checks: &[&Check]) -> Self {
        Self { checks: checks.iter().map(|check| Brief::of(check)).collect() }
    }
}

impl Brief {
    fn of(check: &Check) -> Self {
        Self { check: check.id, level: check.level, force: check.force, spec: check.spec, summary: check.summary }
    }
}

/// Members of `explain` for a check.
#[derive(Debug, Serialize)]
pub(crate) struct CheckExplanation {
    #[serde(flatten)]
    check: Brief,
    why: &'static str,
    fix: &'static str,
    fails: [ExchangeFile; 1],
    passes: [ExchangeFile; 1],
}

/// A recorded exchange, as a file.
#[derive(Debug, Serialize)]
struct ExchangeFile {
    file: &'static str,
    text: &'static str,
}

impl CheckExplanation {
    /// Explains a check.
    #[must_use]
    pub(crate) fn of(check: &Check) -> Self {
        let exchange = |text| [ExchangeFile { file: "exchange.txt", text }];
        Self {
            check: Brief::of(check),
            why: check.why,
            fix: check.fix,
            fails: exchange(check.fails),
            passes: exchange(check.passes),
        }
    }
}
