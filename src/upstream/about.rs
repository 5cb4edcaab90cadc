//! What a publisher says of a package or a repository.

use serde_json::Value;

/// What a publisher says, word for word: it may be of any length and hold anything.
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

impl About {
    /// Reads a version as an npm registry describes it, which is its `package.json`.
    #[must_use]
    pub fn of_npm(version: &Value) -> Self {
        let license = |value: &Value| text(value).or_else(|| text(value.get("type")?));
        let licenses = version.get("licenses").and_then(Value::as_array).into_iter().flatten();
        let people = version.get("contributors").and_then(Value::as_array).into_iter().flatten();
        let name = |person: &Value| text(person).or_else(|| text(person.get("name")?));
        let repository = version.get("repository");
        Self {
            description: version.get("description").and_then(text),
            authors: version.get("author").into_iter().chain(people).filter_map(name).collect(),
            licenses: version.get("license").into_iter().chain(licenses).filter_map(license).collect(),
            license_url: None,
            website: version.get("homepage").and_then(text),
            repository: repository.and_then(|value| text(value).or_else(|| text(value.get("url")?))),
        }
    }

    /// Reads the `info` of a Python project.
    #[must_use]
    pub fn of_pypi(info: &Value) -> Self {
        let own = |key: &str| info.get(key).and_then(text);
        let links = info.get("project_urls").and_then(Value::as_object);
        let link = |wanted: &[&str]| {
            let mut named = links.into_iter().flatten();
            let is_wanted = |key: &str| wanted.iter().any(|wanted| key.eq_ignore_ascii_case(wanted));
            named.find(|(key, _)| is_wanted(key)).and_then(|(_, value)| text(value))
        };
        let classified = info.get("classifiers").and_then(Value::as_array).into_iter().flatten().filter_map(|one| {
            let words = one.as_str()?.strip_prefix("License :: ")?;
            Some(words.rsplit(" :: ").next().unwrap_or(words).to_owned())
        });
        let people = ["author", "author_email", "maintainer", "maintainer_email"].into_iter().find_map(own);
        Self {
            description: own("summary"),
            // Several people stand in one text.
            authors: people.iter().flat_map(|people| people.split(',')).map(ToOwned::to_owned).collect(),
            licenses: own("license_expression").into_iter().chain(own("license")).chain(classified).collect(),
            license_url: None,
            website: own("home_page").or_else(|| link(&["homepage", "home", "website", "documentation"])),
            repository: link(&["repository", "source", "source code", "code", "github"]),
        }
    }

    /// Reads a repository as GitHub describes it; `license` is its answer for the licence's file, if there is one.
    #[must_use]
    pub fn of_github(repository: &Value, license: Option<&Value>) -> Self {
        let at = |pointer: &str| repository.pointer(pointer).and_then(text);
        Self {
            description: at("/description"),
            authors: at("/owner/login").into_iter().collect(),
            // What GitHub says of a licence that it does not know.
            licenses: at("/license/spdx_id").into_iter().filter(|id| id != "NOASSERTION").collect(),
            license_url: license.and_then(|license| text(license.get("html_url")?)),
            website: at("/homepage"),
            repository: at("/html_url"),
        }
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.trim().is_empty()).map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn npm_has_two_ways_to_say_everything() {
        let plain = json!({ "description": "d", "author": "A <a@h.example>", "license": "MIT", "homepage": "h",
                            "repository": "github:o/r" });
        let about = About::of_npm(&plain);
        assert_eq!((about.description.as_deref(), about.website.as_deref()), (Some("d"), Some("h")));
        assert_eq!(about.repository.as_deref(), Some("github:o/r"));
        let long = json!({ "description": 7, "author": { "name": "A" }, "contributors": ["B", 7, { "name": "C" }],
                           "licenses": [{ "type": "MIT" }], "homepage": " ", "repository": { "url": "u" } });
        let about = About::of_npm(&long);
        assert_eq!((about.authors, about.licenses), (vec!["A".into(), "B".into(), "C".into()], vec!["MIT".into()]));
        assert_eq!((about.description, about.website, about.repository.as_deref()), (None, None, Some("u")));
        assert_eq!(About::of_npm(&json!([])), About::default());
    }

    #[test]
    fn python_projects_name_their_links_as_they_like() {
        let info = json!({ "summary": "s", "author": "", "author_email": "A <a@h.example>, B <b@h.example>",
            "license": "the whole text", "classifiers": ["License :: OSI Approved :: MIT License", "Other :: x"],
            "project_urls": { "Homepage": "h", "Source Code": "c" } });
        let about = About::of_pypi(&info);
        assert_eq!(about.authors, ["A <a@h.example>", " B <b@h.example>"]);
        assert_eq!(about.licenses, ["the whole text", "MIT License"]);
        assert_eq!((about.website.as_deref(), about.repository.as_deref()), (Some("h"), Some("c")));
        assert_eq!(About::of_pypi(&json!({ "project_urls": null })), About::default());
    }

    #[test]
    fn github_says_when_it_knows_no_licence() {
        let repository = json!({ "description": null, "owner": { "login": "o" }, "license": { "spdx_id": "NOASSERTION" },
                                 "html_url": "https://h.example/o/r" });
        let about = About::of_github(&repository, Some(&json!({ "html_url": "l" })));
        assert_eq!((about.licenses, about.license_url.as_deref()), (vec![], Some("l")));
        assert_eq!((about.authors, about.description), (vec!["o".to_owned()], None));
    }
}
