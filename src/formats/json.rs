//! The JSON document of `validate`. Its form is part of the command-line contract.

use acp_registry::check::CheckOutcome;
use acp_registry::finding::{Finding, Level};
use serde::Serialize;
use serde_json::{Value, json};

use crate::documents::Document;
use crate::formats::Report;

pub(crate) fn render(report: &Report<'_>) -> String {
    let checked = report.checked;
    let agents = checked.agents.iter().map(|agent| CheckedAgent { id: &agent.id, status: agent.status.as_str() });
    let members = ValidateDocument {
        findings: checked.findings.iter().map(FindingDocument::of).collect(),
        agents: agents.collect(),
        notes: &checked.notes,
        summary: json!({
            "agents": checked.agents.len(),
            "errors": checked.count(Level::Error),
            "warnings": checked.count(Level::Warning),
            "skipped": checked.count_agents(CheckOutcome::Skipped),
            "duration_seconds": report.duration.as_secs_f64(),
        }),
    };
    Document::new("validate", members).failed(report.failure.clone()).to_text()
}

/// Members of `validate`.
#[derive(Debug, Serialize)]
struct ValidateDocument<'a> {
    findings: Vec<FindingDocument<'a>>,
    agents: Vec<CheckedAgent<'a>>,
    notes: &'a [String],
    summary: Value,
}

#[derive(Debug, Serialize)]
struct CheckedAgent<'a> {
    id: &'a str,
    status: &'static str,
}

/// A finding, as all commands write it.
#[derive(Debug, Serialize)]
pub(crate) struct FindingDocument<'a> {
    rule: &'static str,
    level: &'static str,
    agent: Option<&'a str>,
    file: &'a str,
    line: Option<usize>,
    column: Option<usize>,
    end_line: Option<usize>,
    end_column: Option<usize>,
    pointer: Option<&'a str>,
    message: &'a str,
    help: Option<String>,
}

impl<'a> FindingDocument<'a> {
    pub(crate) fn of(finding: &'a Finding) -> Self {
        let span = finding.span;
        Self {
            rule: finding.rule,
            level: finding.level.as_str(),
            agent: finding.agent.as_deref(),
            file: &finding.file,
            line: span.map(|span| span.line),
            column: span.map(|span| span.column),
            end_line: span.map(|span| span.end_line),
            end_column: span.map(|span| span.end_column),
            pointer: finding.pointer.as_deref(),
            message: &finding.message,
            help: finding.help.clone(),
        }
    }
}
