use std::sync::Arc;

use crate::check::rules::prelude::*;
use acp_registry_plan::manifest::guess_platform;
use acp_registry_plan::text::nearest;
use acp_registry_sources::github::{Asset, Release, ReleaseId};

pub(crate) static RULE: Rule = Rule {
    name: "github/asset-not-found",
    level: Level::Error,
    summary: "a release on GitHub has no such file",
    why: "Every client of this platform fails to install the agent. Files are often renamed between releases, and some \
          releases leave out a platform.",
    fix: "Name a file that the release has, or remove the platform.",
    fails: Example::Online(&Online {
        manifest: TARGET,
        world: "The release v1.0.0 of example/agent on GitHub has the file agent-linux-x64.zip, and no other.",
        answers: |survey| example(survey, "agent-linux-x64.zip"),
    }),
    marks: "\"https://github.com/example/agent/releases/download/v1.0.0/linux.zip\"",
    passes: Example::Online(&Online {
        manifest: TARGET,
        world: "The release v1.0.0 of example/agent on GitHub has the file linux.zip.",
        answers: |survey| example(survey, "linux.zip"),
    }),
    check: CheckFn::Online(check),
};

const TARGET: Example = Example::Target(
    "{ \"archive\": \"https://github.com/example/agent/releases/download/v1.0.0/linux.zip\", \"cmd\": \"./agent\" }",
);

fn example(survey: &mut Survey, file: &str) {
    let id = ReleaseId { owner: "example".into(), repository: "agent".into(), tag: "v1.0.0".into() };
    let asset = Asset { name: file.to_owned(), is_complete: true, ..Asset::default() };
    survey.releases.insert(id.clone(), Ok(Some(Arc::new(Release { assets: vec![asset], ..Release::default() }))));
    let url = "https://github.com/example/agent/releases/download/v1.0.0/linux.zip";
    survey.assets.insert(url.to_owned(), (id, "linux.zip".to_owned()));
}

fn check(subject: &Subject<'_>, survey: &Survey, report: &mut Reporter<'_>) {
    for (release, target) in subject.targets() {
        let Some((id, file, Ok(found))) = survey.asset(&target.archive) else { continue };
        let pointer = release.target_pointer(target, "archive");
        let repository = quote(&format!("{}/{}", id.owner, id.repository));
        let Some(found) = found else {
            report
                .value(pointer, format!("{repository} on GitHub has no public release with the tag {}", quote(&id.tag)))
                .help("publish the release (a draft is not public), or correct the tag");
            continue;
        };
        if found.asset(file).is_some() {
            continue;
        }
        let names: Vec<&str> = found.assets.iter().map(|asset| asset.name.as_str()).collect();
        // A file for another platform is not suggested.
        let fits = |name: &&str| guess_platform(name).is_none_or(|platform| platform.as_str() == target.platform);
        let near = nearest(file, names.iter().copied().filter(fits));
        let help = match near {
            Some(near) => format!("did you mean {}?", quote(near)),
            None if names.is_empty() => "the release has no files".to_owned(),
            None => {
                let shown: Vec<String> = names.iter().take(10).map(|name| quote(name)).collect();
                format!("the release has {} files, such as {}", names.len(), shown.join(", "))
            }
        };
        report
            .value(pointer, format!("the release {} of {repository} has no file {}", quote(&id.tag), quote(file)))
            .help(help);
    }
}
