use super::{MANIFEST, example, proven};
use crate::check::rules::prelude::*;
use crate::check::rules::published;
use acp_registry_plan::manifest::{Pin, Version};
use std::fmt::Display;

pub(crate) static RULE: Rule = Rule {
    name: "provenance/lost",
    level: Level::Warning,
    summary: "a package has no attestation, although earlier versions have one",
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
        report_loss(report, named.pointer, (&named.spec.name, &version), &last);
    }
    for named in published::pypi(subject, survey) {
        let (Pin::Exact(version), Some(project)) = (&named.spec.pin, named.known) else { continue };
        let Some(own) = project.release(version).filter(|own| !own.is_attested) else { continue };
        // From the newest to the oldest.
        let earlier = project.all().skip_while(|(_, one)| !std::ptr::eq(*one, own));
        let Some((last, _)) = earlier.skip(1).find(|(_, one)| one.is_attested) else { continue };
        report_loss(report, named.pointer, (&named.spec.name, version), last);
    }
}

fn report_loss(report: &mut Reporter<'_>, pointer: String, (name, version): (&str, &str), last: &dyn Display) {
    let (name, version) = (quote(name), quote(version));
    report
        .value(pointer, format!("nothing attests who has built {version} of {name}, as for {last}"))
        .help("ask the authors of the package whether they have published this version");
}
