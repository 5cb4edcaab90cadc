use time::UtcOffset;
use time::macros::datetime;

use crate::check::rules::prelude::*;
use crate::check::rules::published;
use acp_registry_plan::manifest::{Pin, extension};
use acp_registry_plan::timestamp::date;
use acp_registry_sources::pypi::ProjectFile;

pub(crate) static RULE: Rule = Rule {
    name: "pypi/excluded-version",
    level: Level::Error,
    summary: "a version was released after the day of `exclude_newer`",
    why: "uv ignores everything that was released after that day, so it never finds this version.",
    fix: "Write the day of the release, or a later day on which the package's dependencies still worked.",
    fails: Example::Online(&Online {
        manifest: Example::Manifest(
            "\"distribution\": { \"uvx\": { \"package\": \"example==1.0.0\", \"exclude_newer\": \"2026-02-01\" } }",
        ),
        world: "The Python index has example 1.0.0, of 2 February 2026.",
        answers: released,
    }),
    marks: "\"2026-02-01\"",
    passes: Example::Online(&Online {
        manifest: Example::Manifest(
            "\"distribution\": { \"uvx\": { \"package\": \"example==1.0.0\", \"exclude_newer\": \"2026-02-02\" } }",
        ),
        world: "The Python index has example 1.0.0, of 2 February 2026.",
        answers: released,
    }),
    check: CheckFn::Online(check),
};

/// For examples: adds a version with an upload date.
fn released(survey: &mut Survey) {
    let file = ProjectFile {
        name: "example-1.0.0-py3-none-any.whl".to_owned(),
        has_hash: true,
        uploaded: Some(datetime!(2026-02-02 12:00 UTC)),
        ..ProjectFile::default()
    };
    published::put_file(survey, file);
}

fn check(subject: &Subject<'_>, survey: &Survey, report: &mut Reporter<'_>) {
    for named in published::pypi(subject, survey) {
        let Some(day) = named.package.exclude_newer.as_deref().and_then(date) else { continue };
        let (Some(project), Pin::Exact(version)) = (named.known, &named.spec.pin) else { continue };
        let Some(released) = project.release(version).and_then(|release| release.first) else { continue };
        let released = released.to_offset(UtcOffset::UTC).date();
        if released <= day {
            continue;
        }
        let package = format!("{} of {}", quote(version), quote(&named.spec.name));
        let pointer = format!("{}/{}", named.object, extension::EXCLUDE_NEWER);
        report
            .value(pointer, format!("{package} was released on {released}, after this day"))
            .help(format!("write \"{released}\" or a later day"));
    }
}
