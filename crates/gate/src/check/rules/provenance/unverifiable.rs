use super::{MANIFEST, asked, example, proven};
use crate::check::rules::prelude::*;
use acp_registry_client::provenance::Error;
use acp_registry_plan::text::printable;

pub(crate) static RULE: Rule = Rule {
    name: "provenance/unverifiable",
    level: Level::Warning,
    summary: "the attestation of a package cannot be checked",
    why: "The package registry says that it knows who has built the package. People who require that proof cannot install the agent \
          if it cannot be checked.",
    fix: "Run the check again if the registry did not answer. Otherwise update this program, or publish the package with a \
          current npm, or a Python package by a trusted publisher.",
    fails: Example::Online(&Online {
        manifest: Example::Manifest(MANIFEST),
        world: "The npm registry has an attestation of version 1.0.0 of the package example, in an unknown form.",
        answers: |survey| {
            let (artifact, problem) = ("`example@1.0.0`".to_owned(), "invalid media type".to_owned());
            example(survey, Some(Err(Error::Unverifiable { artifact, problem })));
        },
    }),
    marks: "\"example@1.0.0\"",
    passes: Example::Online(&Online {
        manifest: Example::Manifest(MANIFEST),
        world: "The npm registry has an attestation of version 1.0.0 of the package example that can be checked.",
        answers: |survey| example(survey, Some(Ok(proven()))),
    }),
    check: CheckFn::Online(check),
};

fn check(subject: &Subject<'_>, survey: &Survey, report: &mut Reporter<'_>) {
    for (pointer, proven) in asked(subject, survey) {
        let (message, help) = match proven {
            // There it is another rule.
            Err(Error::Mismatch { .. }) => continue,
            Err(error) => (printable(&error.to_string()).into_owned(), error.remedy()),
            Ok(proven) if proven.is_empty() => {
                let message = "the package registry announces attestations of this package, and none says who built it";
                (message.to_owned(), None)
            }
            Ok(_) => continue,
        };
        report.value(pointer, message).help(help.unwrap_or_else(|| "check again later".to_owned()));
    }
}
