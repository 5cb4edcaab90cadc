//! For programs. The form is part of the command-line contract.

use serde_json::{Value, json};

use super::Report;
use acp_registry_gate::check::Status;
use acp_registry_gate::finding::{Finding, Level};

pub(super) fn render(report: &Report<'_>) -> String {
    let checked = report.checked;
    let agents = checked.agents.iter().map(|agent| json!({ "id": agent.id, "status": agent.status.as_str() }));
    acp_registry_core::json::to_string(&json!({
        "schema": 1,
        "command": "validate",
        "findings": checked.findings.iter().map(finding).collect::<Vec<_>>(),
        "agents": agents.collect::<Vec<_>>(),
        "notes": checked.notes,
        "summary": {
            "agents": checked.agents.len(),
            "errors": checked.count(Level::Error),
            "warnings": checked.count(Level::Warning),
            "skipped": checked.count_agents(Status::Skipped),
            "duration_seconds": report.duration.as_secs_f64(),
        },
    }))
}

/// A finding as every command writes it in JSON.
#[must_use]
pub fn finding(finding: &Finding) -> Value {
    json!({
        "rule": finding.rule,
        "level": finding.level.as_str(),
        "agent": finding.agent,
        "file": finding.file,
        "line": finding.span.map(|span| span.line),
        "column": finding.span.map(|span| span.column),
        "end_line": finding.span.map(|span| span.end_line),
        "end_column": finding.span.map(|span| span.end_column),
        "pointer": finding.pointer,
        "message": finding.message,
        "help": finding.help,
    })
}
