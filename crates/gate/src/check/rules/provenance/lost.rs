use super::{MANIFEST, example, proven};
use crate::check::reporter::Reporter;
use crate::check::rule::{CheckFn, Example, Online, Rule, Subject};
use crate::check::rules::published;
use crate::finding::Level;
use crate::survey::Survey;
use acp_registry_plan::manifest::Version;
use acp_registry_plan::text::quote;

pub(crate) static RULE: Rule = Rule {
    name: "provenance/lost",
    level: Level::Warning,
    summary: "an npm package has no attestation, although earlier versions have one",
    why: "Someone who has stolen the token of an author can publish a version, but not from the workflow of the repository: such \
          a version has no attestation. Users who remember the publisher are refused the version.",
    fix: "Ask the authors of the package whether they have published this version themselves, and to publish it by the workflow \
          that attested the earlier ones.",
    fails: Example::Online(&Online {
        manifest: Example::Manifest(MANIFEST),
        world: "The npm registry has attestations of version 0.9.0 of the package example, and none of version 1.0.0.",
        answers: |survey| example(survey, None),
    }),
    marks: "\"example@1.0.0\"",
    passes: Example::Online(&Online {
        manifest: Example::Manifest(MANIFEST),
        world: "The npm registry has attestations of version 0.9.0 of the package example, and of version 1.0.0.",
        answers: |survey| example(survey, Some(Ok(proven()))),
    }),
    check: CheckFn::Online(check),
};

fn check(subject: &Subject<'_>, survey: &Survey, report: &mut Reporter<'_>) {
    for named in published::npm(subject, survey) {
        let Some((version, published)) = published::npm_version(&named) else { continue };
        let (Some(own), Some(packument), false) = (Version::parse(&version), named.known, published.is_attested) else {
            continue;
        };
        let earlier = packument.all().filter(|(_, one)| one.is_attested).filter_map(|(text, _)| Version::parse(text));
        let Some(last) = earlier.filter(|one| *one < own).max() else { continue };
        let (name, version) = (quote(&named.spec.name), quote(&version));
        report
            .value(named.pointer, format!("nothing attests who has built {version} of {name}, as for {last}"))
            .help("ask the authors of the package whether they have published this version");
    }
}
