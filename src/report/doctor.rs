//! The result of `doctor`, for people.

use std::fmt::Write as _;

use super::layout::Look;
use super::outcome::{cut, stderr};
use acp_registry_client::doctor::{Check, Examined, Status};

/// Column at which messages begin.
const INDENT: usize = 20;

/// Renders the checks. For agents that failed, it includes the end of their stderr.
#[must_use]
pub fn doctor(checks: &[Check], agents: &[Examined], look: Look) -> String {
    let mut out = String::new();
    for check in checks {
        line(&mut out, check, look);
    }
    for agent in agents {
        let version = agent.version.as_deref().map_or_else(String::new, |version| format!(" {}", cut(version)));
        // Writing to a String cannot fail.
        let _ = writeln!(out, "\n{}{version}", cut(&agent.id));
        for check in &agent.checks {
            line(&mut out, check, look);
        }
        let is_told = agent.checks.iter().any(|check| check.name == "handshake" && check.status != Status::Ok);
        if let Some(outcome) = &agent.handshake
            && is_told
            && outcome.exit.is_some()
        {
            out.push_str(&stderr(&outcome.stderr_tail));
        }
    }
    out
}

fn line(out: &mut String, check: &Check, look: Look) {
    let code = match check.status {
        Status::Ok => "1;32",
        Status::Warning => "1;33",
        Status::Error => "1;31",
    };
    let word = look.paint(code, &format!("{:7}", check.status.as_str()));
    out.push_str(&look.wrap(&format!("{word}  {:9}  {}", check.name, check.message), INDENT));
    if let Some(help) = &check.help {
        out.push_str(&look.wrap(&format!("{:INDENT$}help: {help}", ""), INDENT + 2));
    }
}
