use crate::check::rules::prelude::*;

pub(crate) static RULE: Rule = Rule {
    name: "distribution/unsafe-package-spec",
    level: Level::Error,
    summary: "a package is not just a name and a version",
    why: "npx and uvx also accept options, addresses, repositories and paths in place of a package. These could make a \
          client run code from outside the package registry, or use an option that a stranger chose.",
    fix: "Write only the name of a published package and its exact version; arguments belong in `args`.",
    fails: Example::Manifest(
        "\"distribution\": { \"npx\": { \"package\": \"--registry=https://example.org example\" } }",
    ),
    marks: "\"--registry=https://example.org example\"",
    passes: Example::Manifest("\"distribution\": { \"npx\": { \"package\": \"@example/agent@1.0.0\" } }"),
    check: CheckFn::Manifest(check),
};

fn check(subject: &Subject<'_>, report: &mut Reporter<'_>) {
    for (release, kind, package) in subject.packages() {
        if let Err(error) = kind.pin(&package.package)
            && !package.package.is_empty()
        {
            report
                .value(release.package_pointer(kind, "package"), format!("{} {error}", quote(&package.package)))
                .help("write the name of a package and its exact version");
        }
    }
}
