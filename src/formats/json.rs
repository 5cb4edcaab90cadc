//! The JSON document of `validate`. Its form is part of the command-line contract.

use acp_registry::check::Status;
use acp_registry::finding::{Finding, Level};
use serde::Serialize;

use crate::documents::Document;
use crate::failure::remedy::remedy;
use crate::formats::Report;

pub(crate) fn render(report: &Report<'_>) -> String {
    let checked = report.checked;
    let agents = checked.agents.iter().map(|agent| Agent { id: &agent.id, status: agent.status.as_str() });
    let members = Members {
        findings: checked.findings.iter().map(Found::of).collect(),
        agents: agents.collect(),
        notes: &checked.notes,
        summary: Summary {
            agents: checked.agents.len(),
            errors: checked.count(Level::Error),
            warnings: checked.count(Level::Warning),
            skipped: checked.count_agents(Status::Skipped),
            duration_seconds: report.duration.as_secs_f64(),
        },
    };
    Document::new("validate", members).failed(report.failure.clone()).to_text()
}

/// Members of `validate`.
#[derive(Debug, Serialize)]
struct Members<'a> {
    findings: Vec<Found<'a>>,
    agents: Vec<Agent<'a>>,
    notes: &'a [String],
    summary: Summary,
}

#[derive(Debug, Serialize)]
struct Agent<'a> {
    id: &'a str,
    status: &'static str,
}

#[derive(Debug, Serialize)]
struct Summary {
    agents: usize,
    errors: usize,
    warnings: usize,
    skipped: usize,
    duration_seconds: f64,
}

/// A finding, as all commands write it.
#[derive(Debug, Serialize)]
pub(crate) struct Found<'a> {
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

impl<'a> Found<'a> {
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
            help: finding.help.as_ref().map(remedy),
        }
    }
}
