//! The results of an examination in a comment on GitHub. They may come from a machine that runs untrusted agents.

use acp_registry::examination::{CheckRecord, CheckVerdict, Level, Record, VerdictCounts};
use acp_registry::text::{code_span, prose};

use crate::terminal::excerpt::cut;
use crate::terminal::plural;

/// Maximum number of checks of an agent that are shown.
const SHOWN: usize = 20;

/// Renders the counts, and the checks that failed or have a warning, as Markdown.
pub(crate) fn comment(name: &str, record: &Record) -> String {
    let VerdictCounts { passed, failed, warnings, not_exercised } = record.summary();
    let reached = record.reached.map_or_else(
        || "could not be examined".to_owned(),
        |level: Level| format!("examined up to {}", code_span(level.as_str())),
    );
    let mut out = format!(
        "\n{} {reached}: {passed} passed, {failed} failed, {}, {not_exercised} not exercised\n\n",
        code_span(&cut(name)),
        plural(warnings, "warning")
    );
    let is_told = |check: &&CheckRecord| matches!(check.verdict, CheckVerdict::Fail | CheckVerdict::Warning);
    for check in record.checks.iter().filter(is_told).take(SHOWN) {
        let (verdict, message) = (check.verdict.as_str(), check.message.as_deref().unwrap_or_default());
        out.push_str(&format!("- {verdict} {}: {}\n", code_span(&cut(&check.id)), prose(&cut(message))));
    }
    out
}
