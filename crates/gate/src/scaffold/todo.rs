//! The remaining steps for a new agent.

use std::collections::BTreeSet;

use crate::finding::Finding;
use crate::verify::Attempts;
use acp_registry_client::registry::Registry;
use acp_registry_examine::examination;
use acp_registry_plan::manifest::{Agent, Distribution, NpmSpec, PypiSpec};
use acp_registry_plan::text::nearest;
use acp_registry_protocol::handshake::Verdict;

/// A step that a person must do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Todo {
    /// A step described by this sentence.
    Note(String),
    /// Remove this id from `[withdrawn]` in the configuration.
    Withdrawn(String),
    /// Look at the agent with this id: it has the same package or archive.
    SamePackage(String),
    /// Look at the agent with this id: the ids are similar.
    SimilarId(String),
    /// Check that the agent answers if started with the given arguments.
    SeeWhetherItAnswers,
    /// Add arguments if it needs any; none were tried.
    AddArguments,
    /// Fix the reason why it could not be started.
    NotStarted(String),
    /// Enable users to sign in: the agent answers, but users cannot sign in.
    SignIn {
        /// The arguments with which it answers.
        arguments: Vec<String>,
        /// Why users cannot sign in.
        message: String,
    },
    /// Set the arguments: it answered with none of those tried.
    SayArguments(Vec<Cause>),
    /// Make the agent pass a check of its examination.
    PassCheck {
        /// Id of the check.
        check: &'static str,
        /// What the agent did. Printable.
        message: String,
    },
    /// Fix the violation of a rule.
    Correct {
        /// The rule.
        rule: &'static str,
        /// The message of the finding.
        message: String,
    },
}

/// Why an agent does not answer, with the lists of arguments to which this applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// The reason as a sentence.
    pub message: String,
    /// The lists of arguments.
    pub arguments: Vec<Vec<String>>,
}

/// Steps for agents of the registry that may be the same as the new one, or be confused with it.
pub(super) fn similar(registry: &Registry, agent: &Agent) -> Vec<Todo> {
    let package = |distribution: &Distribution| {
        let npx = distribution.npx.as_ref().and_then(|npx| Some(npx.package.parse::<NpmSpec>().ok()?.name));
        let uvx = distribution.uvx.as_ref().and_then(|uvx| Some(uvx.package.parse::<PypiSpec>().ok()?.name));
        (npx.is_some() || uvx.is_some()).then_some((npx, uvx))
    };
    let own = package(&agent.distribution);
    let is_same = |distribution: &Distribution| {
        let archives = |distribution: &Distribution| {
            let targets = distribution.binary.iter().map(|target| target.archive.clone());
            targets.collect::<BTreeSet<_>>()
        };
        (own.is_some() && package(distribution) == own)
            || !archives(distribution).is_disjoint(&archives(&agent.distribution))
    };
    let manifests = registry.entries.iter().filter_map(|entry| Some((&entry.id, entry.manifest.present()?.agent())));
    let same = manifests.filter(|(_, other)| is_same(&other.distribution)).map(|(id, _)| id);
    let mut found: Vec<Todo> = same.map(|id| Todo::SamePackage(id.clone())).collect();
    let near = nearest(&agent.id, registry.entries.iter().map(|entry| entry.id.as_str()));
    found.extend(near.filter(|_| found.is_empty()).map(|near| Todo::SimilarId(near.to_owned())));
    found
}

/// Steps concerning the start of the agent.
pub(super) fn start_todos(has_arguments: bool, attempts: Option<&Attempts>) -> Vec<Todo> {
    let Some(attempts) = attempts else {
        return vec![if has_arguments { Todo::SeeWhetherItAnswers } else { Todo::AddArguments }];
    };
    let mut left = Vec::new();
    if let Some((_, message)) = &attempts.not_started {
        left.push(Todo::NotStarted(message.clone()));
    }
    match attempts.best() {
        Some(attempt) if attempt.outcome.verdict == Verdict::Pass => {
            // The requirements that the agent violates.
            let checks = attempt.examination.iter().flat_map(|examination| &examination.checks);
            let failed = checks.filter(|examined| examined.verdict == examination::CheckVerdict::Fail);
            left.extend(failed.map(|examined| Todo::PassCheck {
                check: examined.check.id,
                message: examined.message.clone().unwrap_or_default(),
            }));
        }
        Some(attempt) => {
            let message = attempt.outcome.message.clone().unwrap_or_default();
            left.push(Todo::SignIn { arguments: attempt.arguments.clone(), message });
        }
        None => {
            // One step per cause, even if several attempts have the same one.
            let mut causes: Vec<Cause> = Vec::new();
            for attempt in &attempts.tried {
                let message = attempt.outcome.message.as_deref().unwrap_or_default();
                match causes.iter_mut().find(|cause| cause.message == message) {
                    Some(cause) => cause.arguments.push(attempt.arguments.clone()),
                    None => {
                        causes.push(Cause { message: message.to_owned(), arguments: vec![attempt.arguments.clone()] });
                    }
                }
            }
            if !causes.is_empty() {
                left.push(Todo::SayArguments(causes));
            }
        }
    }
    left
}

/// Steps for violations of rules, without duplicates and without those already in `left`.
pub(super) fn put_right(errors: &[Finding], left: &[Todo]) -> Vec<Todo> {
    let member = |finding: &Finding| match finding.rule.strip_prefix("manifest/missing-") {
        Some(name) => name.replace('-', "_"),
        None => finding.pointer.as_deref().and_then(|pointer| pointer.split('/').nth(1)).unwrap_or_default().to_owned(),
    };
    let is_known = |finding: &&Finding| {
        let member = member(finding);
        let starts = [format!("write `{member}`"), format!("add `{member}`"), format!("`{member}` of the source")];
        let is_of_member = |text: &String| starts.iter().any(|start| text.starts_with(start));
        left.iter().any(|item| matches!(item, Todo::Note(text) if is_of_member(text)))
    };
    let mut out: Vec<Todo> = Vec::new();
    for finding in errors.iter().filter(|finding| !is_known(finding)) {
        let item = Todo::Correct { rule: finding.rule, message: finding.message.clone() };
        if !out.contains(&item) {
            out.push(item);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Level;

    fn finding(rule: &'static str, pointer: &str, message: &str) -> Finding {
        Finding {
            rule,
            level: Level::Error,
            agent: None,
            file: "a/agent.json".to_owned(),
            span: None,
            pointer: Some(pointer.to_owned()),
            message: message.to_owned(),
            help: None,
            fix: None,
        }
    }

    #[test]
    fn what_a_note_asks_for_already_is_not_asked_for_again() {
        let licence = finding("manifest/missing-license", "", "the manifest names no licence");
        let name = finding("manifest/text-control-characters", "/name", "`name` has a control character");
        let correct = [Todo::Correct { rule: name.rule, message: name.message.clone() }];
        for note in [
            "add `license`: the source names none",
            "`license` of the source was left out: `X` is not an SPDX expression",
        ] {
            let findings = [licence.clone(), name.clone(), name.clone()];
            assert_eq!(put_right(&findings, &[Todo::Note(note.to_owned())]), correct, "{note}");
        }
        assert_eq!(put_right(std::slice::from_ref(&licence), &[]).len(), 1);
    }
}
