use crate::check::rules::prelude::*;
use acp_registry_plan::text::is_blank;

const ICON: (&str, &str) = (
    "example/icon.svg",
    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\">\n  <path fill=\"currentColor\" d=\"M2 2h12v12H2z\"/>\n</svg>\n",
);

pub(crate) static RULE: Rule = Rule {
    name: "manifest/missing-authors",
    level: Level::Warning,
    summary: "the manifest names no authors",
    why: "The schema does not require it, but a published client does, and rejects the whole index when one agent lacks it.",
    fix: "Add `authors`, a list of the people or organisations that publish the agent.",
    fails: Example::Files(&[
        (
            "example/agent.json",
            "{\n  \"id\": \"example\",\n  \"name\": \"Example\",\n  \"version\": \"1.0.0\",\n  \"description\": \"An agent that shows how a manifest looks.\",\n  \"license\": \"MIT\",\n  \"distribution\": { \"npx\": { \"package\": \"example@1.0.0\" } }\n}\n",
        ),
        ICON,
    ]),
    marks: "{",
    passes: Example::Files(&[
        (
            "example/agent.json",
            "{\n  \"id\": \"example\",\n  \"name\": \"Example\",\n  \"version\": \"1.0.0\",\n  \"description\": \"An agent that shows how a manifest looks.\",\n  \"license\": \"MIT\", \"authors\": [\"Example Team\"],\n  \"distribution\": { \"npx\": { \"package\": \"example@1.0.0\" } }\n}\n",
        ),
        ICON,
    ]),
    check: CheckFn::Manifest(check),
};

fn check(subject: &Subject<'_>, report: &mut Reporter<'_>) {
    let Some(members) = subject.value().as_object() else { return };
    let Some(authors) = members.get("authors") else {
        report.value("", "the manifest names no authors").help("add `authors`, a list of persons or organisations");
        return;
    };
    let Some(authors) = authors.as_array() else { return };
    if authors.is_empty() {
        report.value("/authors", "the manifest names no authors").help("name at least one person or organisation");
    }
    for (at, author) in authors.iter().enumerate() {
        if author.as_str().is_some_and(|name| name.chars().all(is_blank)) {
            report
                .value(format!("/authors/{at}"), format!("`authors[{at}]` is empty"))
                .help("write the name of a person or an organisation, or remove the item");
        }
    }
}

#[cfg(test)]
mod tests {
    use acp_registry_client::registry::Registry;
    use acp_registry_http::AllowedHosts;

    use crate::check::{CheckOptions, Levels, Selection, check};
    use crate::config::Config;

    #[test]
    fn an_empty_name_is_reported_at_its_place() {
        for (authors, found) in [
            ("[\"\"]", &["/authors/0"][..]),
            ("[\"A\", \" \", \"\"]", &["/authors/1", "/authors/2"]),
            ("[\"\u{2800}\u{3000}\"]", &["/authors/0"]),
            ("[]", &["/authors"]),
            ("[\"A\"]", &[]),
        ] {
            let folder = tempfile::tempdir().unwrap();
            std::fs::create_dir(folder.path().join("a")).unwrap();
            std::fs::write(folder.path().join("a/agent.json"), format!("{{\"authors\":{authors}}}")).unwrap();
            let registry = Registry::load(folder.path()).unwrap();
            let (levels, config) = (Levels::default(), Config::default());
            let options = CheckOptions {
                levels: &levels,
                allowed_hosts: &AllowedHosts::default(),
                config: &config,
                survey: None,
                advisories: None,
            };
            let findings = check(&registry, &options, &Selection::All).findings;
            let of_rule = findings.iter().filter(|finding| finding.rule == super::RULE.name);
            let places: Vec<&str> = of_rule.filter_map(|finding| finding.pointer.as_deref()).collect();
            assert_eq!(places, found, "{authors}");
        }
    }
}
