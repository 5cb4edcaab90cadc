use super::{archives, redirect_chain};
use crate::check::rules::prelude::*;
use acp_registry_http::{Answer, FetchError, Problem};

pub(crate) static RULE: Rule = Rule {
    name: "url/redirects-to-insecure",
    level: Level::Error,
    summary: "the address of an archive redirects away from public https",
    why: "A redirect to plain http lets others replace the program in transit; one to a private address makes clients \
          connect to machines in their own network.",
    fix: "Name the address that the redirect should lead to, or let the host redirect to public https.",
    fails: Example::Online(&Online {
        manifest: Example::Target("{ \"archive\": \"https://example.com/1.0.0/linux.zip\", \"cmd\": \"./agent\" }"),
        world: "https://example.com/1.0.0/linux.zip redirects to http://example.com/1.0.0/linux.zip",
        answers: |survey| {
            let url = "https://example.com/1.0.0/linux.zip";
            let error = FetchError {
                url: "http://example.com/1.0.0/linux.zip".to_owned(),
                hops: vec![url.to_owned()],
                problem: Problem::Refused("it does not begin with https://"),
            };
            survey.links.insert(url.to_owned(), Err(error));
        },
    }),
    marks: "\"https://example.com/1.0.0/linux.zip\"",
    passes: Example::Online(&Online {
        manifest: Example::Target("{ \"archive\": \"https://example.com/1.0.0/linux.zip\", \"cmd\": \"./agent\" }"),
        world: "https://example.com/1.0.0/linux.zip redirects to https://cdn.example.com/linux.zip",
        answers: |survey| {
            let url = "https://example.com/1.0.0/linux.zip".to_owned();
            survey.links.insert(url.clone(), Ok(Answer { hops: vec![url], ..Answer::default() }));
        },
    }),
    check: CheckFn::Online(check),
};

fn check(subject: &Subject<'_>, survey: &Survey, report: &mut Reporter<'_>) {
    for (pointer, _, asked) in archives(subject, survey) {
        if let Err(FetchError { url, hops, problem: Problem::Refused(reason) }) = asked {
            let way = if hops.is_empty() { String::new() } else { format!("redirects{} to ", redirect_chain(hops)) };
            report
                .value(pointer, format!("{way}{}, which clients must not follow: {reason}", quote(url)))
                .help("the archive, and everything that redirects to it, must be on public hosts with https");
        }
    }
}
