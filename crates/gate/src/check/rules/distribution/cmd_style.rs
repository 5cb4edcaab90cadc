use crate::check::rules::prelude::*;

pub(crate) static RULE: Rule = Rule {
    name: "distribution/cmd-style",
    level: Level::Warning,
    summary: "a command is not written as `./path/to/program`",
    why: "Some clients refuse a command without `./`, or look it up in `PATH`; a backslash is a path separator on \
          Windows only, and an ordinary character elsewhere.",
    fix: "Write `./` before the path, and `/` between its parts, on every platform.",
    fails: Example::Target("{ \"archive\": \"https://example.com/1.0.0/linux.zip\", \"cmd\": \"bin/agent\" }"),
    marks: "\"bin/agent\"",
    passes: Example::Target("{ \"archive\": \"https://example.com/1.0.0/linux.zip\", \"cmd\": \"./bin/agent\" }"),
    check: CheckFn::Manifest(check),
};

fn check(subject: &Subject<'_>, report: &mut Reporter<'_>) {
    for (release, target) in subject.targets() {
        let cmd = target.cmd.as_str();
        if super::unsafe_cmd::problem(cmd).is_none() && (!cmd.starts_with("./") || cmd.contains('\\')) {
            let plain = cmd.replace('\\', "/");
            let better = format!("./{}", plain.strip_prefix("./").unwrap_or(&plain));
            report
                .value(
                    release.target_pointer(target, "cmd"),
                    format!("{} is not understood by every client", quote(cmd)),
                )
                .help(format!("write {}", quote(&better)));
        }
    }
}
