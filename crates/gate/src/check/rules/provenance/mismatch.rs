use super::{MANIFEST, asked, example, proven};
use crate::check::rules::prelude::*;
use acp_registry_client::provenance::Error;

pub(crate) static RULE: Rule = Rule {
    name: "provenance/mismatch",
    level: Level::Error,
    summary: "the attestation of a package is not by the repository of the manifest",
    why: "An attestation names the workflow and the repository that have built the package. If that is another repository \
          than the manifest names, or the attestation is forged or about other bytes, the package may be by someone else than \
          its users believe.",
    fix: "Name the repository whose workflow publishes the package. If the manifest names the right one, do not publish the \
          version, and ask the authors of the package.",
    fails: Example::Online(&Online {
        manifest: Example::Manifest(MANIFEST),
        world: "The npm registry has an attestation of version 1.0.0 of the package example, made by a workflow of another repository.",
        answers: |survey| {
            let problem =
                "it is by `https://github.com/other/agent`, and the manifest names `https://github.com/example/agent`";
            let (artifact, problem) = ("`example@1.0.0`".to_owned(), problem.to_owned());
            example(survey, Some(Err(Error::Mismatch { artifact, problem })));
        },
    }),
    marks: "\"example@1.0.0\"",
    passes: Example::Online(&Online {
        manifest: Example::Manifest(MANIFEST),
        world: "The npm registry has an attestation of version 1.0.0 of the package example, made by a workflow of that repository.",
        answers: |survey| example(survey, Some(Ok(proven()))),
    }),
    check: CheckFn::Online(check),
};

fn check(subject: &Subject<'_>, survey: &Survey, report: &mut Reporter<'_>) {
    for (pointer, proven) in asked(subject, survey) {
        if let Err(error @ Error::Mismatch { .. }) = proven {
            report.value(pointer, error.to_string()).help("name the repository whose workflow publishes the package");
        }
    }
}
