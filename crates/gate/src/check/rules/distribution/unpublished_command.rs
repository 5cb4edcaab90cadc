use crate::check::rules::prelude::*;
use acp_registry_plan::manifest::extension;

pub(crate) static RULE: Rule = Rule {
    name: "distribution/unpublished-command",
    level: Level::Warning,
    summary: "a package with `command` is left out of views without package extensions",
    why: "`command` is an extension of the public schema. A client that does not know it would start another program, \
          so the package is published only in views with `package-extensions = true`. Other views omit an agent that \
          has no other distribution.",
    fix: "Publish a view with `package-extensions = true`, or use a package whose command npx and uvx can choose.",
    fails: Example::Manifest(
        "\"distribution\": { \"npx\": { \"package\": \"example@1.0.0\", \"command\": \"example-acp\" } }",
    ),
    marks: "\"example-acp\"",
    passes: Example::Manifest("\"distribution\": { \"npx\": { \"package\": \"example@1.0.0\" } }"),
    check: CheckFn::Manifest(check),
};

fn check(subject: &Subject<'_>, report: &mut Reporter<'_>) {
    // A registry with a view for extensions leaves the package out of other views on purpose.
    let views = subject.options.config.views();
    if views.iter().any(|view| view.package_extensions) {
        return;
    }
    for (release, kind, _) in subject.packages().filter(|(.., package)| package.command.is_some()) {
        let files: Vec<String> = views.iter().map(|view| quote(&view.file)).collect();
        report
            .value(
                release.package_pointer(kind, extension::COMMAND),
                format!("the package is left out of {}, which has no extensions", files.join(", ")),
            )
            .help("set `package-extensions = true` in a view of registry.toml");
    }
}
