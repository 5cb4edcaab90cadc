//! The result of `new`, for people and as JSON.

use std::path::Path;

use acp_registry::examination::Examination;
use acp_registry::handshake::{FailReason, Verdict};
use acp_registry::scaffold::{Added, FILES, Todo};
use acp_registry::text::{printable, quote};
use acp_registry::verify::{Attempts, StartAttempt};
use serde::Serialize;
use serde_json::Value;

use crate::documents::Document;
use crate::formats::examination::examination;
use crate::terminal::layout::Look;

/// The result of `new`.
#[derive(Debug)]
pub(crate) struct NewReport<'a> {
    /// The id of the agent.
    pub(crate) id: &'a str,
    /// Path of the registry directory, relative to the working directory.
    pub(crate) registry: &'a Path,
    /// The flags that select this registry in other commands, each preceded by a space.
    pub(crate) flags: &'a str,
    /// The new agent, and what was learnt about it.
    pub(crate) added: &'a Added,
    /// Whether this was a dry run.
    pub(crate) is_dry_run: bool,
}

/// Members of `new`.
#[derive(Debug, Serialize)]
pub(crate) struct NewDocument<'a> {
    id: &'a str,
    version: &'a str,
    dry_run: bool,
    files: [String; 2],
    manifest: &'a Value,
    probe: Option<StartAttempts<'a>>,
    errors: Vec<BrokenRule<'a>>,
    left_to_do: Vec<String>,
}

/// How the attempts to start the agent ended.
#[derive(Debug, Serialize)]
struct StartAttempts<'a> {
    verdict: Option<Verdict>,
    args: Option<&'a [String]>,
    tried: Vec<Tried<'a>>,
    not_started: Option<NotStarted<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    examination: Option<&'a Examination>,
}

/// An attempt to start the agent with a list of arguments.
#[derive(Debug, Serialize)]
struct Tried<'a> {
    args: &'a [String],
    verdict: Verdict,
    reason: Option<FailReason>,
    message: Option<&'a str>,
}

/// Why the agent was not started.
#[derive(Debug, Serialize)]
struct NotStarted<'a> {
    reason: &'static str,
    message: &'a str,
}

/// A rule that the manifest breaks.
#[derive(Debug, Serialize)]
struct BrokenRule<'a> {
    rule: &'static str,
    pointer: Option<&'a str>,
    message: &'a str,
}

impl<'a> StartAttempts<'a> {
    fn of(attempts: &'a Attempts) -> Self {
        let best = attempts.best();
        let tried = attempts.tried.iter().map(|StartAttempt { arguments, outcome, .. }| Tried {
            args: arguments,
            verdict: outcome.verdict,
            reason: outcome.reason,
            message: outcome.message.as_deref(),
        });
        Self {
            verdict: best.map(|attempt| attempt.outcome.verdict),
            args: best.map(|attempt| attempt.arguments.as_slice()),
            tried: tried.collect(),
            not_started: attempts.not_started.as_ref().map(|(reason, message)| NotStarted { reason, message }),
            examination: best.and_then(|attempt| attempt.examination.as_deref()),
        }
    }
}

impl NewReport<'_> {
    /// Returns the JSON document.
    pub(crate) fn document(&self) -> Document<'_, NewDocument<'_>> {
        let Added { draft, attempts, proposal, .. } = self.added;
        let errors = proposal.errors.iter().map(|finding| BrokenRule {
            rule: finding.rule,
            pointer: finding.pointer.as_deref(),
            message: &finding.message,
        });
        let members = NewDocument {
            id: self.id,
            version: &draft.agent.version,
            dry_run: self.is_dry_run,
            files: FILES.map(|name| shown_path(Path::new("."), self.id, name)),
            manifest: &proposal.manifest,
            probe: attempts.as_ref().map(StartAttempts::of),
            errors: errors.collect(),
            left_to_do: self.left(),
        };
        Document::new("new", members)
    }

    /// Describes what was written, how the agent starts, and the remaining steps. In a dry run, it includes the manifest.
    pub(crate) fn human(&self, look: Look) -> String {
        let Added { draft, attempts, proposal, .. } = self.added;
        let distribution = &draft.agent.distribution;
        let packages =
            distribution.packages().map(|(kind, package)| format!("{} {}", kind.as_str(), quote(&package.package)));
        let platforms: Vec<&str> = distribution.binary.iter().map(|target| target.platform.as_str()).collect();
        let binary = (!platforms.is_empty()).then(|| format!("binary for {}", platforms.join(", ")));
        let ways: Vec<String> = packages.chain(binary).collect();
        let start = match attempts.as_ref().and_then(Attempts::best) {
            Some(attempt) => format!("started with {}: {}", arguments(&attempt.arguments), answer(attempt)),
            None => "not seen to start".to_owned(),
        };
        let files = FILES.map(|name| shown_path(self.registry, self.id, name)).join(" and ");
        let head = [
            format!("{} {files}", if self.is_dry_run { "would write" } else { "wrote" }),
            format!("  {} {}: {}", draft.agent.name, draft.agent.version, ways.join("; ")),
            format!("  {start}"),
        ];
        let mut text: String = head.iter().map(|line| look.wrap(line, 4)).collect();
        let examined = attempts.as_ref().and_then(Attempts::best).and_then(|attempt| attempt.examination.as_deref());
        text.extend(examined.map(|examined| examination(examined, look)));
        text.push_str("\nleft to do:\n");
        for (at, item) in (1..).zip(self.left()) {
            text.push_str(&look.wrap(&format!("{at:>3}. {}", printable(&item)), 5));
        }
        if self.is_dry_run {
            let manifest = proposal.manifest_text.lines().map(|line| format!("{}\n", printable(line)));
            text.push('\n');
            text.extend(manifest);
        }
        text
    }

    /// The remaining steps, one sentence each.
    fn left(&self) -> Vec<String> {
        let mut left: Vec<String> = self.added.left.iter().map(sentence).collect();
        let icon = shown_path(self.registry, self.id, "icon.svg");
        left.push(format!("draw `{icon}`, which is the initial letter now: 16×16, with currentColor"));
        left.push(format!(
            "run `acp-registry validate {} --all{}`: a pull request must pass the same checks",
            self.id, self.flags
        ));
        left
    }
}

/// Joins several lists of arguments into one phrase.
pub(crate) fn ways(lists: &[Vec<String>]) -> String {
    let shown: Vec<String> = lists.iter().map(|list| arguments(list)).collect();
    match shown.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => shown.join(", "),
    }
}

fn arguments(arguments: &[String]) -> String {
    if arguments.is_empty() { "no arguments".to_owned() } else { quote(&arguments.join(" ")) }
}

fn sentence(todo: &Todo) -> String {
    match todo {
        Todo::Note(text) => text.clone(),
        Todo::Withdrawn(id) => format!(
            "remove {} below `[withdrawn]` in `registry.toml`: agents that it names are not published",
            quote(id)
        ),
        Todo::SamePackage(id) => format!("look at {}, which is the same package already in the registry", quote(id)),
        Todo::SimilarId(id) => format!("look at {}, whose id is much alike: people must tell the two apart", quote(id)),
        Todo::SeeWhetherItAnswers => {
            "see whether it answers: `acp-registry verify` starts it as the manifest says".to_owned()
        }
        Todo::AddArguments => "add `args`, if it wants any to be started as an agent: nothing was tried".to_owned(),
        Todo::NotStarted(message) => format!("find out why it could not be started here: {message}"),
        Todo::SignIn { arguments: list, message } => {
            format!("let people sign in: with {} it answers, but {message}", arguments(list))
        }
        Todo::SayArguments(causes) => {
            let causes = causes.iter().map(|cause| format!("with {}, {}", ways(&cause.arguments), cause.message));
            format!("say how it is started, in `args`: {}", causes.collect::<Vec<_>>().join("; "))
        }
        Todo::PassCheck { check, message } => {
            format!("pass the check {check}, which `acp-registry explain {check}` describes: {message}")
        }
        Todo::Correct { rule, message } => format!("correct it, as {rule} requires: {message}"),
    }
}

/// Path of a file of the new agent, relative to the working directory.
fn shown_path(registry: &Path, id: &str, name: &str) -> String {
    let below = Path::new(id).join(name);
    let path = if registry == Path::new(".") { below } else { registry.join(below) };
    path.display().to_string().replace('\\', "/")
}

fn answer(attempt: &StartAttempt) -> String {
    let methods = &attempt.outcome.handshake.auth_methods;
    let methods: Vec<String> =
        methods.iter().take(5).map(|method| format!("{} ({})", quote(&method.id), quote(&method.kind))).collect();
    match attempt.outcome.verdict {
        Verdict::Pass => format!("it answers, and people sign in by {}", methods.join(", ")),
        _ => "it answers, but people cannot sign in".to_owned(),
    }
}
