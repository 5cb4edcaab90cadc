//! What JUnit and SARIF need of an agent that was started.

use std::path::Path;
use std::time::Duration;

use acp_registry::check::{Rule, rule_of_reason, rule_of_runner};
use acp_registry::examination::{Examination, Record};
use acp_registry::handshake::{FailReason, Outcome};
use acp_registry::text::printable;
use acp_registry::verify::{Row, State, TaskVerdict};

/// An agent with the results of its handshake and its examination. Texts are unescaped.
#[derive(Debug)]
pub(crate) struct Examinee<'a> {
    /// The agent's id and distribution, or its command.
    pub(crate) name: String,
    /// The file that results are attached to, relative to the repository.
    pub(crate) file: String,
    /// [`TaskVerdict::Skipped`] for an agent in quarantine, which is expected to fail.
    pub(crate) verdict: TaskVerdict,
    pub(crate) reason: Option<&'a str>,
    /// The rule about that reason.
    pub(crate) rule: Option<&'static Rule>,
    pub(crate) message: Option<String>,
    pub(crate) stderr: &'a str,
    /// Duration of the handshake.
    pub(crate) duration: Duration,
    pub(crate) record: Option<Record>,
}

impl<'a> Examinee<'a> {
    /// A command that was started by `probe`. `file` is the file of the repository that stands for the agent.
    pub(crate) fn from_outcome(
        name: &str,
        file: &str,
        outcome: &'a Outcome,
        examination: Option<&Examination>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            file: file.to_owned(),
            verdict: outcome.verdict.into(),
            reason: outcome.reason.map(FailReason::as_str),
            rule: outcome.reason.and_then(|reason| rule_of_reason(reason.as_str())),
            message: outcome.message.clone(),
            stderr: &outcome.stderr_tail,
            duration: outcome.timing.total,
            record: examination.map(Record::from),
        }
    }

    /// A row of `verify`. `prefix` is the path of the registry directory within the repository, ending in `/`.
    pub(crate) fn from_row(row: &'a Row, prefix: &str) -> Self {
        let is_excused = !row.is_finding() && matches!(row.verdict(), TaskVerdict::Fail | TaskVerdict::Error);
        let duration = match &row.state {
            State::Checked { outcome, .. } => outcome.timing.total,
            State::Skipped { .. } | State::NotStarted { .. } | State::Reused(_) => Duration::ZERO,
        };
        let message = if is_excused { row.advice() } else { row.explanation() };
        Self {
            name: format!("{} ({})", row.id, row.distribution()),
            file: format!("{prefix}{}/agent.json", row.id),
            verdict: if is_excused { TaskVerdict::Skipped } else { row.verdict() },
            reason: row.reason(),
            rule: row.not_startable_by().and_then(rule_of_runner).or_else(|| rule_of_reason(row.reason()?)),
            message: message.or_else(|| row.explanation()),
            stderr: row.stderr(),
            duration,
            record: row.record(),
        }
    }

    /// Whether the handshake itself failed. It did not if the agent only violates a requirement that its checks show.
    pub(crate) fn fails_handshake(&self) -> bool {
        let is_shown = || self.record.as_ref().is_some_and(|record| record.summary().failed > 0);
        match self.verdict {
            TaskVerdict::Pass | TaskVerdict::Skipped => false,
            TaskVerdict::Fail | TaskVerdict::Error => self.reason != Some("examination") || !is_shown(),
        }
    }

    /// Why the handshake failed or was skipped. Printable.
    pub(crate) fn why(&self) -> String {
        printable(self.message.as_deref().unwrap_or("the agent did not pass")).into_owned()
    }
}

/// The file of the repository that stands for a command: the first of its words that names a file below `directory`, or
/// else the name of the program.
pub(crate) fn file_of_command<'w>(words: impl IntoIterator<Item = &'w Path>, directory: &Path) -> String {
    let mut program = String::new();
    for word in words {
        let path = directory.join(word);
        let inside = path.canonicalize().ok().filter(|path| path.is_file());
        let real = directory.canonicalize().unwrap_or_default();
        if let Some(path) = inside.as_deref().and_then(|path| path.strip_prefix(&real).ok()) {
            let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
            return parts.join("/");
        }
        if program.is_empty() {
            program = word.file_name().unwrap_or_default().to_string_lossy().into_owned();
        }
    }
    program
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_known_by_its_file_in_the_repository() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("dist")).unwrap();
        std::fs::write(folder.path().join("dist/index.js"), "").unwrap();
        let of = |words: &[&str]| file_of_command(words.iter().map(Path::new), folder.path());
        assert_eq!(of(&["/usr/bin/node", "dist/index.js", "--acp"]), "dist/index.js");
        assert_eq!(of(&["node", "./dist/../dist/index.js"]), "dist/index.js");
        for words in [&["/opt/x/gemini", "--acp"][..], &["gemini", "dist"], &["gemini", "../../etc/passwd"]] {
            assert_eq!(of(words), "gemini", "{words:?}");
        }
        assert_eq!(of(&[]), "");
    }
}
