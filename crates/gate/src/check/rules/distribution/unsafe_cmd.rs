use crate::check::rules::prelude::*;
use acp_registry_archive::path_problem;

pub(crate) static RULE: Rule = Rule {
    name: "distribution/unsafe-cmd",
    level: Level::Error,
    summary: "a command leads out of the unpacked archive",
    why: "The command is joined to the folder that the archive was unpacked into. An absolute path, a drive or `..` \
          would start another program on the machine, and a pattern could match any file. Names that no file can have on \
          Windows, such as `aux.txt`, cannot be unpacked there.",
    fix: "Write the path of the program inside the archive, starting with `./`.",
    fails: Example::Target("{ \"archive\": \"https://example.com/1.0.0/linux.zip\", \"cmd\": \"../../bin/sh\" }"),
    marks: "\"../../bin/sh\"",
    passes: Example::Target("{ \"archive\": \"https://example.com/1.0.0/linux.zip\", \"cmd\": \"./bin/agent\" }"),
    check: CheckFn::Manifest(check),
};

fn check(subject: &Subject<'_>, report: &mut Reporter<'_>) {
    for (release, target) in subject.targets() {
        let Some(problem) = problem(&target.cmd) else { continue };
        let place = release.target_pointer(target, "cmd");
        // That it is missing is a finding of the schema.
        if subject.value().pointer(&place).is_some() {
            let is_own = target.cmd.starts_with("./") && !target.cmd.ends_with('/') && !target.cmd.contains("/..");
            report.value(place, format!("{} {problem}", quote(&target.cmd))).help(if is_own {
                "give the program another name in the archive, and write it here"
            } else {
                "write the path of the program inside the archive, beginning with ./"
            });
        }
    }
}

/// Why a command is unsafe; `None` if it is safe.
pub(super) fn problem(cmd: &str) -> Option<String> {
    let problem = if cmd.trim_matches(['.', '/', '\\', ' ']).is_empty() {
        "names no program"
    } else if cmd.trim_end_matches('.').ends_with(['/', '\\']) {
        "names a folder, not a program"
    } else if cmd.starts_with('~') {
        "is an absolute path"
    } else if cmd.contains(['*', '?', '[', ']', '{', '}']) {
        "is a pattern, not a path"
    } else if cmd.contains(['$', '%', '|', '&', ';', '<', '>', '"', '\'', '`', '!']) {
        "has characters that a shell would act on"
    } else if cmd.starts_with('-') {
        "could be read as an option"
    } else {
        return path_problem(cmd).map(|reason| reason.to_string());
    };
    Some(problem.to_owned())
}

#[cfg(test)]
mod tests {
    use super::problem;

    #[test]
    fn whatever_leads_out_is_unsafe() {
        for cmd in [
            "", ".", "./", "./a/", "./a/.", "a\\", "/bin/sh", "\\x", "C:\\x", "c:x", "../x", "./a/../../x", "a\\..\\x",
            "*", "./a?", "~/x", "-x", "$HOME/x", "./a;b", "./a\nb", "./a.exe:stream", "./CON", "./bin/nul",
            "./aux.txt", "COM1", "./com\u{b9}.exe", "./lpt9 .tar.gz", "./agent.", "./agent ", "./bin./agent",
            "\\\\host\\x", "./.. /x",
        ] {
            assert!(problem(cmd).is_some(), "{cmd:?}");
        }
        for cmd in [
            "./agent", "agent.exe", "./dist-package\\agent.cmd", "./coco-1.0+1.e6-darwin-arm64/cortex",
            "./My App/agent", "./a..b", "./console", "./com10", "./auxiliary.exe",
        ] {
            assert_eq!(problem(cmd), None, "{cmd:?}");
        }
    }
}
