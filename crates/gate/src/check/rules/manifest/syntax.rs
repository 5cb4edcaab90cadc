use crate::check::rules::prelude::*;
use acp_registry_client::registry::{Loaded, MANIFEST_LIMIT};
use acp_registry_host::fs::ReadError;
use acp_registry_plan::manifest::Manifest;

pub(crate) static RULE: Rule = Rule {
    name: "manifest/syntax",
    level: Level::Error,
    summary: "agent.json is not valid JSON",
    why: "Clients read all agents from one file: a single manifest that is not JSON would break the index for all of \
          them. Besides plain mistakes, this rule reports text that is not UTF-8, `NaN` and `Infinity`, unpaired \
          surrogates, files above 1 MiB, and values nested deeper than 62 levels.",
    fix: "Correct the underlined place; any JSON editor marks the same error.",
    fails: Example::Files(&[("example/agent.json", "{\n  \"id\": \"example\",\n  \"name\": NaN\n}\n")]),
    marks: "N",
    passes: Example::Manifest("\"name\": \"Not a number\""),
    check: CheckFn::ManifestFile(check),
};

fn check(manifest: &Loaded<Manifest>, report: &mut Reporter<'_>) {
    match manifest {
        Loaded::Broken(error) => {
            let draft = report.range(error.range.clone(), format!("not valid JSON: {}", error.message));
            if let Some(help) = error.help {
                draft.help(help);
            }
        }
        Loaded::NotUtf8 { offset, .. } => {
            report.range(*offset..*offset, "not UTF-8").help("save the file as UTF-8");
        }
        Loaded::Unreadable(ReadError::TooLarge { .. }) => {
            report.file(format!("larger than {MANIFEST_LIMIT} bytes")).help("a manifest is a few kilobytes");
        }
        Loaded::Missing | Loaded::Unreadable(_) | Loaded::Present(_) => {}
    }
}
