//! What a publisher says of a package or a repository.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::{self, List, Object};

/// What a publisher says, word for word: it may hold anything. Of long texts the beginning is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct About {
    /// What it is.
    pub description: Option<String>,
    /// Persons and organisations, perhaps with addresses behind their names.
    pub authors: Vec<String>,
    /// Its licence, or several texts of which the first that is a licence counts.
    pub licenses: Vec<String>,
    /// Where the licence can be read.
    pub license_url: Option<String>,
    /// Its home page.
    pub website: Option<String>,
    /// Where its source code is, in any of the many ways to write that.
    pub repository: Option<String>,
}

/// How many people, licences or links are read.
const MOST: usize = 100;

type Part<'a> = Option<&'a RawValue>;

impl About {
    /// Reads a version as an npm registry describes it, which is its `package.json`.
    #[must_use]
    pub fn of_npm(version: &RawValue) -> Self {
        #[derive(Default, Deserialize)]
        #[serde(default, bound(deserialize = "'de: 'a"))]
        struct Form<'a> {
            description: Part<'a>,
            author: Part<'a>,
            contributors: Part<'a>,
            license: Part<'a>,
            licenses: Part<'a>,
            homepage: Part<'a>,
            repository: Part<'a>,
        }
        let form: Form<'_> = json::object(Some(version)).unwrap_or_default();
        let named = |part, key| text(part).or_else(|| text(member(part, key)));
        let people = form.author.into_iter().chain(items(form.contributors));
        let licenses = form.license.into_iter().chain(items(form.licenses));
        Self {
            description: text(form.description),
            authors: people.filter_map(|person| named(Some(person), "name")).collect(),
            licenses: licenses.filter_map(|license| named(Some(license), "type")).collect(),
            license_url: None,
            website: text(form.homepage),
            repository: named(form.repository, "url"),
        }
    }

    /// Reads the `info` of a Python project.
    #[must_use]
    pub fn of_pypi(info: &RawValue) -> Self {
        let members = members(Some(info));
        let part = |key: &str| members.iter().find(|(name, _)| name == key).map(|(_, part)| *part);
        let own = |key: &str| text(part(key));
        let links = self::members(part("project_urls"));
        let link = |wanted: &[&str]| {
            let is_wanted = |key: &str| wanted.iter().any(|wanted| key.eq_ignore_ascii_case(wanted));
            links.iter().find(|(key, _)| is_wanted(key)).and_then(|(_, part)| text(Some(part)))
        };
        let classified = items(part("classifiers")).into_iter().filter_map(|one| {
            let words = text(Some(one))?;
            let words = words.strip_prefix("License :: ")?;
            Some(words.rsplit(" :: ").next().unwrap_or(words).to_owned())
        });
        let people = ["author", "author_email", "maintainer", "maintainer_email"].into_iter().find_map(own);
        Self {
            description: own("summary"),
            // Several people stand in one text.
            authors: people.iter().flat_map(|people| people.split(',')).map(ToOwned::to_owned).take(MOST).collect(),
            licenses: own("license_expression").into_iter().chain(own("license")).chain(classified).collect(),
            license_url: None,
            website: own("home_page").or_else(|| link(&["homepage", "home", "website", "documentation"])),
            repository: link(&["repository", "source", "source code", "code", "github"]),
        }
    }

    /// Reads a repository as GitHub describes it.
    #[must_use]
    pub fn of_github(repository: &RawValue) -> Self {
        #[derive(Default, Deserialize)]
        #[serde(default, bound(deserialize = "'de: 'a"))]
        struct Form<'a> {
            description: Part<'a>,
            owner: Part<'a>,
            license: Part<'a>,
            homepage: Part<'a>,
            html_url: Part<'a>,
        }
        let form: Form<'_> = json::object(Some(repository)).unwrap_or_default();
        Self {
            description: text(form.description),
            authors: text(member(form.owner, "login")).into_iter().collect(),
            // What GitHub says of a licence that it does not know.
            licenses: text(member(form.license, "spdx_id")).into_iter().filter(|id| id != "NOASSERTION").collect(),
            license_url: None,
            website: text(form.homepage),
            repository: text(form.html_url),
        }
    }
}

/// The address of the page of a licence's file, as GitHub describes it.
pub(super) fn license_url(license: &RawValue) -> Option<String> {
    text(member(Some(license), "html_url"))
}

fn members(part: Part<'_>) -> Vec<(Cow<'_, str>, &RawValue)> {
    let object: Object<'_, MOST> = json::object(part).unwrap_or_default();
    object.members
}

fn member<'a>(part: Part<'a>, key: &str) -> Part<'a> {
    members(part).into_iter().find(|(name, _)| name == key).map(|(_, part)| part)
}

fn items(part: Part<'_>) -> Vec<&RawValue> {
    let list: Option<List<'_, MOST>> = part.and_then(|part| serde_json::from_str(part.get()).ok());
    list.unwrap_or_default().items
}

fn text(part: Part<'_>) -> Option<String> {
    super::sentence(part).filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn raw(value: &Value) -> Box<RawValue> {
        RawValue::from_string(value.to_string()).unwrap()
    }

    #[test]
    fn npm_has_two_ways_to_say_everything() {
        let plain = json!({ "description": "d", "author": "A <a@h.example>", "license": "MIT", "homepage": "h",
                            "repository": "github:o/r" });
        let about = About::of_npm(&raw(&plain));
        assert_eq!((about.description.as_deref(), about.website.as_deref()), (Some("d"), Some("h")));
        assert_eq!(about.repository.as_deref(), Some("github:o/r"));
        let long = json!({ "description": 7, "author": { "name": "A" }, "contributors": ["B", 7, { "name": "C" }],
                           "licenses": [{ "type": "MIT" }], "homepage": " ", "repository": { "url": "u" } });
        let about = About::of_npm(&raw(&long));
        assert_eq!((about.authors, about.licenses), (vec!["A".into(), "B".into(), "C".into()], vec!["MIT".into()]));
        assert_eq!((about.description, about.website, about.repository.as_deref()), (None, None, Some("u")));
        assert_eq!(About::of_npm(&raw(&json!([]))), About::default());
    }

    #[test]
    fn python_projects_name_their_links_as_they_like() {
        let info = json!({ "summary": "s", "author": "", "author_email": "A <a@h.example>, B <b@h.example>",
            "license": "the whole text", "classifiers": ["License :: OSI Approved :: MIT License", "Other :: x"],
            "project_urls": { "Homepage": "h", "Source Code": "c" } });
        let about = About::of_pypi(&raw(&info));
        assert_eq!(about.authors, ["A <a@h.example>", " B <b@h.example>"]);
        assert_eq!(about.licenses, ["the whole text", "MIT License"]);
        assert_eq!((about.website.as_deref(), about.repository.as_deref()), (Some("h"), Some("c")));
        assert_eq!(About::of_pypi(&raw(&json!({ "project_urls": null }))), About::default());
    }

    #[test]
    fn github_says_when_it_knows_no_licence() {
        let repository = json!({ "description": null, "owner": { "login": "o" }, "license": { "spdx_id": "NOASSERTION" },
                                 "html_url": "https://h.example/o/r" });
        let about = About::of_github(&raw(&repository));
        assert_eq!(license_url(&raw(&json!({ "html_url": "l" }))).as_deref(), Some("l"));
        assert_eq!(about.licenses, Vec::<String>::new());
        assert_eq!((about.authors, about.description), (vec!["o".to_owned()], None));
    }
}
