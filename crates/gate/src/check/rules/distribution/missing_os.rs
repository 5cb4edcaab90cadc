use std::collections::BTreeSet;

use crate::check::rules::prelude::*;
use acp_registry_plan::manifest::{Platform, guess_platform};

pub(crate) static RULE: Rule = Rule {
    name: "distribution/missing-os",
    level: Level::Error,
    summary: "a binary distribution leaves out an operating system",
    why: "The registry's RFD requires builds for macOS, Linux and Windows, so that every listed agent runs on each of \
          them. One architecture per system is enough.",
    fix: "Add a build for the missing system, or distribute the agent as a package.",
    fails: Example::Manifest(
        "\"distribution\": { \"binary\": {\n    \
         \"linux-x86_64\": { \"archive\": \"https://example.com/1.0.0/linux.zip\", \"cmd\": \"./agent\" }\n  } }",
    ),
    marks: "\"binary\"",
    passes: Example::Manifest(
        "\"distribution\": { \"binary\": {\n    \
         \"darwin-aarch64\": { \"archive\": \"https://example.com/1.0.0/mac.zip\", \"cmd\": \"./agent\" },\n    \
         \"linux-x86_64\": { \"archive\": \"https://example.com/1.0.0/linux.zip\", \"cmd\": \"./agent\" },\n    \
         \"windows-x86_64\": { \"archive\": \"https://example.com/1.0.0/windows.zip\", \"cmd\": \"./agent.exe\" }\n  } }",
    ),
    check: CheckFn::Manifest(check),
};

fn check(subject: &Subject<'_>, report: &mut Reporter<'_>) {
    for release in subject.agent().releases() {
        let targets = &release.distribution.binary;
        // A misspelled platform is reported by its own rule, and here counts as the platform that is meant.
        let platforms = targets
            .iter()
            .filter_map(|target| target.platform.parse().ok().or_else(|| guess_platform(&target.platform)));
        let covered: BTreeSet<&str> = platforms.map(Platform::os).collect();
        let missing: Vec<&str> =
            ["darwin", "linux", "windows"].into_iter().filter(|os| !covered.contains(os)).collect();
        if !covered.is_empty() && !missing.is_empty() {
            report
                .key(
                    format!("{}/distribution/binary", release.pointer()),
                    format!("there is no build for {}", missing.join(" or ")),
                )
                .help("add a build for each system, or distribute the agent as a package");
        }
    }
}
