//! The result of `doctor`, for people.

use std::fmt::Write as _;

use acp_registry::doctor::{CheckStatus, DiagnosedAgent, Diagnosis};

use crate::terminal::excerpt::{cut, stderr};
use crate::terminal::layout::Look;

/// Renders the checks. For agents that failed, it includes the end of their stderr.
#[must_use]
pub(crate) fn doctor(checks: &[Diagnosis], agents: &[DiagnosedAgent], look: Look) -> String {
    let mut out = String::new();
    let all = checks.iter().chain(agents.iter().flat_map(|agent| &agent.checks));
    let width = all.map(|check| check.name.len()).max().unwrap_or_default().max(9);
    for check in checks {
        line(&mut out, check, width, look);
    }
    for agent in agents {
        let version = agent.version.as_deref().map_or_else(String::new, |version| format!(" {}", cut(version)));
        // Writing to a String cannot fail.
        let _ = writeln!(out, "\n{}{version}", cut(&agent.id));
        for check in &agent.checks {
            line(&mut out, check, width, look);
        }
        let is_told = agent.checks.iter().any(|check| check.name == "handshake" && check.status != CheckStatus::Ok);
        if let Some(outcome) = &agent.handshake
            && is_told
            && outcome.exit.is_some()
        {
            out.push_str(&stderr(&outcome.stderr_tail));
        }
    }
    out
}

fn line(out: &mut String, check: &Diagnosis, width: usize, look: Look) {
    let code = match check.status {
        CheckStatus::Ok => "1;32",
        CheckStatus::Warning => "1;33",
        CheckStatus::Error => "1;31",
    };
    let word = look.paint(code, &format!("{:7}", check.status.as_str()));
    // Column at which messages begin.
    let indent = 7 + 2 + width + 2;
    out.push_str(&look.wrap(&format!("{word}  {:width$}  {}", check.name, check.message), indent));
    if let Some(help) = &check.help {
        out.push_str(&look.wrap(&format!("{:indent$}help: {help}", ""), indent + 2));
    }
}
