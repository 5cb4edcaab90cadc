//! `/docs/`: a guide for each kind of reader, from the Markdown in `templates/docs/`.

use askama::Template;

use super::commonmark::{Rendered, render};
use super::pages::{Frame, Site};
use super::{File, SiteError, page};
use crate::registry::DEFAULT_BASE_URL;

/// A guide.
pub(super) struct Guide {
    /// Its folder below `docs/`, and its file without the ending.
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// For whom it is, and what is in it.
    pub(super) about: &'static str,
    pub(super) text: &'static str,
}

/// All guides, in the order in which people are likely to look for them.
pub(super) const GUIDES: [Guide; 4] = [
    Guide {
        id: "user",
        title: "Use agents",
        about: "Find agents, install them, start them from an editor, and keep them as new as you want.",
        text: include_str!("../../templates/docs/user.md"),
    },
    Guide {
        id: "contributor",
        title: "Add an agent, or change one",
        about: "From a package or a release to a pull request that passes: manifest, icon, sign-in, checks.",
        text: include_str!("../../templates/docs/contributor.md"),
    },
    Guide {
        id: "maintainer",
        title: "Run a registry",
        about: "Lay out a registry, check it, publish it, keep it up to date, and what to do when an agent fails.",
        text: include_str!("../../templates/docs/maintainer.md"),
    },
    Guide {
        id: "client-author",
        title: "Use agents from a program",
        about: "For editors and other clients: the JSON interface, exit codes, lock files, the library, and the index.",
        text: include_str!("../../templates/docs/client-author.md"),
    },
];

#[derive(Template)]
#[template(path = "docs.html")]
struct Docs<'a> {
    f: Frame<'a>,
    guides: &'static [Guide],
}

#[derive(Template)]
#[template(path = "guide.html")]
struct ShownGuide<'a> {
    f: Frame<'a>,
    title: &'static str,
    text: Rendered,
}

pub(super) fn pages(site: &Site) -> Result<Vec<File>, SiteError> {
    let description =
        "How agents are used, added, published and built into other programs, and the rules of the registry.";
    let f = Frame::new(site, "docs/", "Documentation – ACP agents", description);
    let mut files = vec![page("docs/", &Docs { f, guides: &GUIDES })?];
    let base = site.registry_url.as_deref().and_then(|url| url.strip_suffix("/registry.json"));
    for guide in &GUIDES {
        let path = format!("docs/{}/", guide.id);
        let f = Frame::new(site, &path, &format!("{} – ACP agents", guide.title), guide.about);
        let text = render(guide.text, &|text| match base {
            Some(base) => text.replace(DEFAULT_BASE_URL, base),
            None => text.to_owned(),
        });
        files.push(page(&path, &ShownGuide { f, title: guide.title, text })?);
    }
    Ok(files)
}
