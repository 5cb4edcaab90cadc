use crate::check::rules::prelude::*;
use acp_registry_client::registry::Loaded;
use acp_registry_host::fs::ReadError;

pub(crate) static RULE: Rule = Rule {
    name: "registry/unreadable-file",
    level: Level::Error,
    summary: "a file of an agent cannot be read",
    why: "A directory, a FIFO or a device in place of a file, a symbolic link that leads out of the registry, or a \
          file without read permission cannot be checked or published.",
    fix: "Put a regular file in its place.",
    fails: Example::Files(&[("example/agent.json/file", "a directory in the place of the manifest\n")]),
    marks: "",
    passes: Example::Manifest("\"id\": \"example\""),
    check: CheckFn::Registry(check),
};

fn check(registry: &Registry, _options: &CheckOptions<'_>, report: &mut Reporter<'_>) {
    for entry in &registry.entries {
        for (file, error) in [("agent.json", refusal(&entry.manifest)), ("icon.svg", refusal(&entry.icon))] {
            let Some(error) = error else { continue };
            report.about(FindingFile { agent: Some(&entry.id), file, ..FindingFile::default() }, |report| {
                report.file(error.to_string()).help(match error {
                    ReadError::Io(_) => "see that its permissions and the disk allow to read it",
                    _ => "put a regular, readable file in its place",
                });
            });
        }
    }
}

/// Why a file could not be read. Files over their size limit are reported by the rules about their content.
fn refusal<T>(loaded: &Loaded<T>) -> Option<&ReadError> {
    match loaded {
        Loaded::Unreadable(ReadError::TooLarge { .. }) => None,
        Loaded::Unreadable(error) => Some(error),
        _ => None,
    }
}
