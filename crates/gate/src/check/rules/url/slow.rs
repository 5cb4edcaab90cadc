use std::time::Duration;

use super::{archives, redirect_chain};
use crate::check::rules::prelude::*;
use acp_registry_http::Answer;

pub(crate) static RULE: Rule = Rule {
    name: "url/slow",
    level: Level::Warning,
    summary: "the host of an archive takes more than 5 seconds to answer",
    why: "Many clients time out, or appear to hang, before the download begins.",
    fix: "Publish archives on a host that answers promptly.",
    fails: Example::Online(&Online {
        manifest: Example::Target("{ \"archive\": \"https://example.com/1.0.0/linux.zip\", \"cmd\": \"./agent\" }"),
        world: "https://example.com/1.0.0/linux.zip answers 200 after 8 seconds",
        answers: |survey| {
            let answer = Answer { hops: Vec::new(), elapsed: Duration::from_secs(8), ..Answer::default() };
            survey.links.insert("https://example.com/1.0.0/linux.zip".to_owned(), Ok(answer));
        },
    }),
    marks: "\"https://example.com/1.0.0/linux.zip\"",
    passes: Example::Online(&Online {
        manifest: Example::Target("{ \"archive\": \"https://example.com/1.0.0/linux.zip\", \"cmd\": \"./agent\" }"),
        world: "https://example.com/1.0.0/linux.zip answers 200 after 0.3 seconds",
        answers: |survey| {
            let answer = Answer { hops: Vec::new(), elapsed: Duration::from_millis(300), ..Answer::default() };
            survey.links.insert("https://example.com/1.0.0/linux.zip".to_owned(), Ok(answer));
        },
    }),
    check: CheckFn::Online(check),
};

/// Maximum time until the response headers arrive.
const WAIT_LIMIT: Duration = Duration::from_secs(5);

fn check(subject: &Subject<'_>, survey: &Survey, report: &mut Reporter<'_>) {
    for (pointer, url, asked) in archives(subject, survey) {
        if let Ok(Answer { hops, elapsed, .. }) = asked
            && *elapsed > WAIT_LIMIT
        {
            // The first is the address itself.
            let way = redirect_chain(hops.get(1..).unwrap_or_default());
            let message = format!("{}{way} took {:.1} s to answer", quote(url), elapsed.as_secs_f64());
            report.value(pointer, message).help("publish the archive on a host that answers at once");
        }
    }
}
