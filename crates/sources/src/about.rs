//! What publishers state about packages and repositories.

use std::borrow::Cow;

use serde_json::value::RawValue;

use acp_registry_plan::json::{self, Object};

/// What a publisher states, unchanged and untrusted. Long texts are cut.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PublisherFacts {
    /// The name: a title, or the name of the package or the repository.
    pub name: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// People and organizations, possibly with addresses after their names, without placeholders.
    pub authors: Vec<String>,
    /// The license, or several texts, of which the first valid license counts.
    pub licenses: Vec<String>,
    /// The URL of the license text.
    pub license_url: Option<String>,
    /// The home page.
    pub website: Option<String>,
    /// The location of the source code, in any notation.
    pub repository: Option<String>,
}

/// Maximum number of people, licenses or links.
const MOST: usize = 100;

type AboutField<'a> = Option<&'a RawValue>;

impl PublisherFacts {
    /// Reads a version as npm registries describe it: its `package.json`.
    pub fn from_npm(version: &RawValue) -> Self {
        let names = [
            "name", "displayName", "description", "author", "contributors", "maintainers", "license", "licenses",
            "homepage", "repository",
        ];
        let [name, display_name, description, author, contributors, maintainers, license, licenses, home, repository] =
            json::read_members(Some(version), names);
        let people = author.into_iter().chain(items(contributors)).collect();
        let person = |people: Vec<&RawValue>| people.into_iter().filter_map(|one| named(Some(one), "name")).collect();
        let licenses = license.into_iter().chain(items(licenses));
        Self {
            name: text(display_name).or_else(|| text(name)),
            description: text(description),
            authors: first_named([person(people), person(items(maintainers))]),
            licenses: licenses.filter_map(|license| named(Some(license), "type")).collect(),
            license_url: None,
            website: text(home),
            repository: named(repository, "url"),
        }
    }

    /// Reads the `info` of a Python project.
    pub fn from_pypi(info: &RawValue) -> Self {
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
        // One text may list several people.
        let people =
            |key: &str| own(key).iter().flat_map(|all| all.split(',')).map(ToOwned::to_owned).take(MOST).collect();
        Self {
            name: own("name"),
            description: own("summary"),
            authors: first_named(["author", "author_email", "maintainer", "maintainer_email"].map(people)),
            licenses: own("license_expression").into_iter().chain(own("license")).chain(classified).collect(),
            license_url: None,
            website: own("home_page").or_else(|| link(&["homepage", "home", "website", "documentation"])),
            repository: link(&["repository", "source", "source code", "code", "github"]),
        }
    }

    /// Reads a repository as GitHub describes it.
    pub(super) fn from_github(repository: &RawValue) -> Self {
        let [name, description, owner, license, homepage, html_url] =
            json::read_members(Some(repository), ["name", "description", "owner", "license", "homepage", "html_url"]);
        Self {
            name: text(name),
            description: text(description),
            authors: text(member(owner, "login")).into_iter().collect(),
            // GitHub's value for an unknown license.
            licenses: text(member(license, "spdx_id")).into_iter().filter(|id| id != "NOASSERTION").collect(),
            license_url: None,
            website: text(homepage),
            repository: text(html_url),
        }
    }
}

/// The URL of the page of a license file, as GitHub describes it.
pub(super) fn license_url(license: &RawValue) -> Option<String> {
    text(member(Some(license), "html_url"))
}

/// The first list with at least one name.
fn first_named<const COUNT: usize>(lists: [Vec<String>; COUNT]) -> Vec<String> {
    let named = lists.into_iter().map(|mut list| {
        list.retain(|person| !is_placeholder(person));
        list
    });
    named.into_iter().find(|list| !list.is_empty()).unwrap_or_default()
}

/// Whether this is a placeholder that tools write for an unknown person.
fn is_placeholder(person: &str) -> bool {
    const PLACEHOLDERS: [&str; 10] =
        ["user", "username", "author", "author name", "your name", "name", "unknown", "root", "admin", "n/a"];
    let name = person.split(['<', '(']).next().unwrap_or_default().trim().to_lowercase();
    PLACEHOLDERS.contains(&name.as_str())
}

fn members(part: AboutField<'_>) -> Vec<(Cow<'_, str>, &RawValue)> {
    let object: Object<'_, MOST> = json::object(part).unwrap_or_default();
    object.members
}

fn member<'a>(part: AboutField<'a>, key: &str) -> AboutField<'a> {
    members(part).into_iter().find(|(name, _)| name == key).map(|(_, part)| part)
}

/// A string, or the string in a member.
fn named(part: AboutField<'_>, key: &str) -> Option<String> {
    text(part).or_else(|| text(member(part, key)))
}

fn items(part: AboutField<'_>) -> Vec<&RawValue> {
    super::list::<MOST>(part).unwrap_or_default().items
}

fn text(part: AboutField<'_>) -> Option<String> {
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
        let about = PublisherFacts::from_npm(&raw(&plain));
        assert_eq!((about.description.as_deref(), about.website.as_deref()), (Some("d"), Some("h")));
        assert_eq!(about.repository.as_deref(), Some("github:o/r"));
        let long = json!({ "description": 7, "author": { "name": "A" }, "contributors": ["B", 7, { "name": "C" }],
                           "licenses": [{ "type": "MIT" }], "homepage": " ", "repository": { "url": "u" } });
        let about = PublisherFacts::from_npm(&raw(&long));
        assert_eq!((about.authors, about.licenses), (vec!["A".into(), "B".into(), "C".into()], vec!["MIT".into()]));
        assert_eq!((about.description, about.website, about.repository.as_deref()), (None, None, Some("u")));
        assert_eq!(PublisherFacts::from_npm(&raw(&json!([]))), PublisherFacts::default());
        let named = |about: Value| PublisherFacts::from_npm(&raw(&about)).name;
        assert_eq!(named(json!({ "name": "@s/a-b", "displayName": "A B!" })).as_deref(), Some("A B!"));
        assert_eq!(named(json!({ "name": "@s/a-b" })).as_deref(), Some("@s/a-b"));
    }

    #[test]
    fn python_projects_name_their_links_as_they_like() {
        let info = json!({ "summary": "s", "author": "", "author_email": "A <a@h.example>, B <b@h.example>",
            "license": "the whole text", "classifiers": ["License :: OSI Approved :: MIT License", "Other :: x"],
            "project_urls": { "Homepage": "h", "Source Code": "c" } });
        let about = PublisherFacts::from_pypi(&raw(&info));
        assert_eq!(about.authors, ["A <a@h.example>", " B <b@h.example>"]);
        assert_eq!(about.licenses, ["the whole text", "MIT License"]);
        assert_eq!((about.website.as_deref(), about.repository.as_deref()), (Some("h"), Some("c")));
        assert_eq!(PublisherFacts::from_pypi(&raw(&json!({ "project_urls": null }))), PublisherFacts::default());
    }

    #[test]
    fn a_placeholder_is_no_author() {
        let people = json!([{ "name": "owner", "email": "o@h.example" }]);
        for author in [json!("User"), json!({ "name": "Your Name <you@h.example>" }), json!(null)] {
            assert_eq!(
                PublisherFacts::from_npm(&raw(&json!({ "author": author, "maintainers": people }))).authors,
                ["owner"],
                "{author}"
            );
        }
        let info = json!({ "author": "User", "author_email": "user <u@h.example>", "maintainer": "M" });
        assert_eq!(PublisherFacts::from_pypi(&raw(&info)).authors, ["M"]);
        assert!(PublisherFacts::from_npm(&raw(&json!({ "author": "root" }))).authors.is_empty());
    }

    #[test]
    fn github_says_when_it_knows_no_licence() {
        let repository = json!({ "description": null, "owner": { "login": "o" }, "license": { "spdx_id": "NOASSERTION" },
                                 "html_url": "https://h.example/o/r" });
        let about = PublisherFacts::from_github(&raw(&repository));
        assert_eq!(license_url(&raw(&json!({ "html_url": "l" }))).as_deref(), Some("l"));
        assert_eq!(about.licenses, Vec::<String>::new());
        assert_eq!((about.authors, about.description), (vec!["o".to_owned()], None));
    }
}
