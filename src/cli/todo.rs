//! What is left to do about a new agent.

use acp_registry::finding::Finding;
use acp_registry::handshake::Verdict;
use acp_registry::manifest::{Agent, Distribution, NpmSpec, PypiSpec};
use acp_registry::registry::Registry;
use acp_registry::text::{nearest, quote};
use acp_registry::verify::Attempts;

use super::new::{all_of, shown};

/// Agents of the registry that the new one may be mistaken for, or may be.
pub(super) fn similar(registry: &Registry, agent: &Agent) -> Vec<String> {
    let package = |distribution: &Distribution| {
        let npx = distribution.npx.as_ref().and_then(|npx| Some(npx.package.parse::<NpmSpec>().ok()?.name));
        let uvx = distribution.uvx.as_ref().and_then(|uvx| Some(uvx.package.parse::<PypiSpec>().ok()?.name));
        (npx.is_some() || uvx.is_some()).then_some((npx, uvx))
    };
    let own = package(&agent.distribution);
    let is_same = |distribution: &Distribution| {
        let archives = |distribution: &Distribution| {
            let targets = distribution.binary.iter().map(|target| target.archive.clone());
            targets.collect::<std::collections::BTreeSet<_>>()
        };
        (own.is_some() && package(distribution) == own)
            || !archives(distribution).is_disjoint(&archives(&agent.distribution))
    };
    let manifests = registry.entries.iter().filter_map(|entry| Some((&entry.id, entry.manifest.present()?.agent())));
    let same = manifests.filter(|(_, other)| is_same(&other.distribution)).map(|(id, _)| id);
    let mut notes: Vec<String> =
        same.map(|id| format!("look at {}, which is the same package already in the registry", quote(id))).collect();
    let near = nearest(&agent.id, registry.entries.iter().map(|entry| entry.id.as_str()));
    if let Some(near) = near.filter(|_| notes.is_empty()) {
        notes.push(format!("look at {}, whose id is much alike: people must tell the two apart", quote(near)));
    }
    notes
}

/// What is left to do about the way in which the agent is started.
pub(super) fn of_start(has_arguments: bool, attempts: Option<&Attempts>) -> Vec<String> {
    let Some(attempts) = attempts else {
        let text = if has_arguments {
            "see whether it answers: `acp-registry verify` starts it as the manifest says"
        } else {
            "add `args`, if it wants any to be started as an agent: nothing was tried"
        };
        return vec![text.to_owned()];
    };
    let mut left = Vec::new();
    if let Some((_, message)) = &attempts.not_started {
        left.push(format!("find out why it could not be started here: {message}"));
    }
    match attempts.best() {
        Some(attempt) if attempt.outcome.verdict == Verdict::Pass => {}
        Some(attempt) => {
            let message = attempt.outcome.message.as_deref().unwrap_or_default();
            left.push(format!("let people sign in: with {} it answers, but {message}", shown(&attempt.arguments)));
        }
        None => {
            // One thing to do for each cause, however many ways have it.
            let mut causes: Vec<(&str, Vec<String>)> = Vec::new();
            for attempt in &attempts.tried {
                let (message, way) =
                    (attempt.outcome.message.as_deref().unwrap_or_default(), shown(&attempt.arguments));
                match causes.iter_mut().find(|(cause, _)| *cause == message) {
                    Some((_, ways)) => ways.push(way),
                    None => causes.push((message, vec![way])),
                }
            }
            let causes: Vec<String> =
                causes.into_iter().map(|(cause, ways)| format!("with {}, {cause}", all_of(&ways))).collect();
            if !causes.is_empty() {
                left.push(format!("say how it is started, in `args`: {}", causes.join("; ")));
            }
        }
    }
    left
}

/// What is to be put right because of rules: once for each cause, and not what is left to do already.
pub(super) fn put_right(errors: &[Finding], left: &[String]) -> Vec<String> {
    let member = |finding: &Finding| match finding.rule.strip_prefix("manifest/missing-") {
        Some(name) => name.replace('-', "_"),
        None => finding.pointer.as_deref().and_then(|pointer| pointer.split('/').nth(1)).unwrap_or_default().to_owned(),
    };
    let is_known = |finding: &&Finding| {
        let member = member(finding);
        let starts = [format!("write `{member}`"), format!("add `{member}`")];
        left.iter().any(|item| starts.iter().any(|start| item.starts_with(start)))
    };
    let mut out: Vec<String> = Vec::new();
    for finding in errors.iter().filter(|finding| !is_known(finding)) {
        let text = format!("correct it, as {} requires: {}", finding.rule, finding.message);
        if !out.contains(&text) {
            out.push(text);
        }
    }
    out
}
