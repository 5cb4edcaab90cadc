//! What is left to do about a new agent.

use std::collections::BTreeSet;

use crate::finding::Finding;
use crate::verify::Attempts;
use acp_registry_core::manifest::{Agent, Distribution, NpmSpec, PypiSpec};
use acp_registry_core::registry::Registry;
use acp_registry_core::text::nearest;
use acp_registry_protocol::handshake::Verdict;

/// Something that a person has to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Todo {
    /// What this sentence says.
    Note(String),
    /// Publish the agent of this id again: the configuration withdraws it.
    Withdrawn(String),
    /// Look at the agent of this id, which is the same package.
    SamePackage(String),
    /// Look at the agent of this id, which is much alike.
    SimilarId(String),
    /// See whether the agent answers when it is started with the arguments that a person has named.
    SeeWhetherItAnswers,
    /// Add arguments, if it wants any: nothing was tried.
    AddArguments,
    /// Find out why it could not be started.
    NotStarted(String),
    /// Let people sign in: the agent answers, but they cannot.
    SignIn {
        /// The arguments with which it answers.
        arguments: Vec<String>,
        /// Why they cannot.
        message: String,
    },
    /// Say how it is started: it has not answered in any way.
    SayArguments(Vec<Cause>),
    /// Correct what breaks a rule.
    Correct {
        /// The rule.
        rule: &'static str,
        /// What it says.
        message: String,
    },
}

/// Why an agent does not answer, with the lists of arguments of which that is true.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// Why, as a sentence.
    pub message: String,
    /// With which arguments.
    pub arguments: Vec<Vec<String>>,
}

/// Agents of the registry that the new one may be mistaken for, or may be.
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

/// What is left to do about the way in which the agent is started.
pub(super) fn of_start(has_arguments: bool, attempts: Option<&Attempts>) -> Vec<Todo> {
    let Some(attempts) = attempts else {
        return vec![if has_arguments { Todo::SeeWhetherItAnswers } else { Todo::AddArguments }];
    };
    let mut left = Vec::new();
    if let Some((_, message)) = &attempts.not_started {
        left.push(Todo::NotStarted(message.clone()));
    }
    match attempts.best() {
        Some(attempt) if attempt.outcome.verdict == Verdict::Pass => {}
        Some(attempt) => {
            let message = attempt.outcome.message.clone().unwrap_or_default();
            left.push(Todo::SignIn { arguments: attempt.arguments.clone(), message });
        }
        None => {
            // One thing to do for each cause, however many ways have it.
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

/// What is to be put right because of rules: once for each cause, and not what is left to do already.
pub(super) fn put_right(errors: &[Finding], left: &[Todo]) -> Vec<Todo> {
    let member = |finding: &Finding| match finding.rule.strip_prefix("manifest/missing-") {
        Some(name) => name.replace('-', "_"),
        None => finding.pointer.as_deref().and_then(|pointer| pointer.split('/').nth(1)).unwrap_or_default().to_owned(),
    };
    let is_known = |finding: &&Finding| {
        let member = member(finding);
        let starts = [format!("write `{member}`"), format!("add `{member}`")];
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
