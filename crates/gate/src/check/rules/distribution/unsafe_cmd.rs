use crate::check::reporter::Reporter;
use crate::check::rule::{Check, Example, Rule, Subject};
use crate::finding::Level;
use acp_registry_core::text::{is_hidden, quote};

pub(crate) static RULE: Rule = Rule {
    name: "distribution/unsafe-cmd",
    level: Level::Error,
    summary: "a command leads out of the unpacked archive",
    why: "The command is joined to the folder that the archive was unpacked into. An absolute path, a drive or `..` \
          would start another program on the machine, and a pattern could match any file.",
    fix: "Write the path of the program inside the archive, starting with `./`.",
    fails: Example::Target("{ \"archive\": \"https://example.com/1.0.0/linux.zip\", \"cmd\": \"../../bin/sh\" }"),
    marks: "\"../../bin/sh\"",
    passes: Example::Target("{ \"archive\": \"https://example.com/1.0.0/linux.zip\", \"cmd\": \"./bin/agent\" }"),
    check: Check::Manifest(check),
};

fn check(subject: &Subject<'_>, report: &mut Reporter<'_>) {
    for (release, target) in subject.targets() {
        // That it is missing is a finding of the schema.
        if subject.value().pointer(&release.target_pointer(target, "cmd")).is_none() {
            continue;
        }
        if let Some(problem) = problem(&target.cmd) {
            report
                .value(release.target_pointer(target, "cmd"), format!("{} {problem}", quote(&target.cmd)))
                .help("write the path of the program inside the archive, beginning with ./");
        }
    }
}

/// Why a command is unsafe; `None` if it is safe.
pub(super) fn problem(cmd: &str) -> Option<&'static str> {
    let mut parts = cmd.split(['/', '\\']);
    if cmd.trim_matches(['.', '/', '\\', ' ']).is_empty() {
        Some("names no program")
    } else if cmd.starts_with(['/', '\\', '~']) {
        Some("is an absolute path")
    } else if cmd.contains(':') {
        Some("names a drive or a stream")
    } else if parts.any(|part| part.trim_end() == "..") {
        Some("leads out of the archive")
    } else if cmd.contains(['*', '?', '[', ']', '{', '}']) {
        Some("is a pattern, not a path")
    } else if cmd.contains(['$', '%', '|', '&', ';', '<', '>', '"', '\'', '`', '!']) || cmd.contains(is_hidden) {
        Some("has characters that a shell would act on")
    } else if cmd.starts_with('-') {
        Some("could be read as an option")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::problem;

    #[test]
    fn whatever_leads_out_is_unsafe() {
        for cmd in [
            "", ".", "./", "/bin/sh", "\\x", "C:\\x", "c:x", "../x", "./a/../../x", "a\\..\\x", "*", "./a?", "~/x",
            "-x", "$HOME/x", "./a;b", "./a\nb", "./a.exe:stream",
        ] {
            assert!(problem(cmd).is_some(), "{cmd:?}");
        }
        for cmd in [
            "./agent", "agent.exe", "./dist-package\\agent.cmd", "./coco-1.0+1.e6-darwin-arm64/cortex",
            "./My App/agent", "./a..b",
        ] {
            assert_eq!(problem(cmd), None, "{cmd:?}");
        }
    }
}
