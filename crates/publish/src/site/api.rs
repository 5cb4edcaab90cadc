//! `/api/`, which lists the kinds of published files, and questions that they answer.

use askama::Template;

use super::pages::{Frame, Site};
use crate::contents::{CONTENTS, PublishedFile};
use crate::tree::NOWHERE;

/// A question that a published file answers, and the command that asks it. A test runs all of them.
pub(super) struct Query {
    pub(super) question: &'static str,
    /// The file that answers it.
    file: &'static str,
    /// What `jq` makes of the file.
    filter: &'static str,
}

impl Query {
    /// The command, for a shell in which `base` is the address of the tree.
    pub(super) fn command(&self) -> String {
        format!("curl -fsS \"$base/{}\" | jq -r '{}'", self.file, self.filter)
    }
}

const QUERIES: &[Query] = &[
    Query {
        question: "All agents, with their versions",
        file: "registry.json",
        filter: r#".agents[] | "\(.id) \(.version)""#,
    },
    Query {
        question: "What npx starts for each agent on npm",
        file: "registry.json",
        filter: r#".agents[] | select(.distribution.npx) | "\(.id) \(.distribution.npx.package)""#,
    },
    Query {
        question: "Downloads for Linux on Intel, with their SHA-256 digests",
        file: "registry.json",
        filter: r#".agents[] | .distribution.binary."linux-x86_64" // empty | "\(.archive) \(.sha256 // "-")""#,
    },
    Query {
        question: "Agents that can resume sessions and read images",
        file: "facets.json",
        filter: r#".facets.cap | (."session-resume" - (."session-resume" - ."prompt-image"))[]"#,
    },
    Query {
        question: "The last ten changes",
        file: "history.json",
        filter: r#".events[:10][] | "\(.time) \(.event) \(.id) \(.version)""#,
    },
    Query {
        question: "Examined versions, with the requirements that they violate",
        file: "examinations.json",
        filter: r#".examinations[] | "\(.id) \(.version) \(.failed | join(" "))""#,
    },
];

#[derive(Template)]
#[template(path = "api.html")]
pub(super) struct Api<'a> {
    f: Frame<'a>,
    /// Where the tree is, for the commands.
    base: &'a str,
    queries: Vec<&'static Query>,
    /// The kinds of files, and whether each exists under exactly its path, so that it can be linked to.
    data: Vec<(&'static PublishedFile, bool)>,
    pages: Vec<(&'static PublishedFile, bool)>,
}

pub(super) fn page<'a>(site: &'a Site, is_there: &dyn Fn(&str) -> bool) -> Api<'a> {
    let is_wanted = |row: &&PublishedFile| row.setting.is_none_or(|file| site.config.agent_files.contains(&file));
    let rows = |is_stable: bool| {
        let rows = CONTENTS.iter().filter(|row| row.is_stable == is_stable).filter(is_wanted);
        rows.map(|row| (row, is_there(row.path))).collect()
    };
    let description = "The machine-readable files of this registry, and what each one means.";
    Api {
        base: if site.has_address() { &site.base_url } else { NOWHERE },
        queries: QUERIES.iter().filter(|query| is_there(query.file)).collect(),
        f: Frame::new(site, "api/", "Machine-readable files – ACP agents", description),
        data: rows(true),
        pages: rows(false),
    }
}
