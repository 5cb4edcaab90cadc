use crate::check::reporter::Reporter;
use crate::check::rule::{Check, Example, Rule, Subject};
use crate::finding::Level;

const ICON: (&str, &str) = (
    "example/icon.svg",
    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\">\n  <path fill=\"currentColor\" d=\"M2 2h12v12H2z\"/>\n</svg>\n",
);

pub(crate) static RULE: Rule = Rule {
    name: "manifest/missing-authors",
    level: Level::Warning,
    summary: "the manifest names no authors",
    why: "The schema does not require it, but a published client does, and rejects the whole index when one agent lacks it.",
    fix: "Add `authors`, a list of the persons or organisations that publish the agent.",
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
    check: Check::Manifest(check),
};

fn check(subject: &Subject<'_>, report: &mut Reporter<'_>) {
    let Some(members) = subject.manifest.value().as_object() else { return };
    let (pointer, help) = match members.get("authors") {
        None => ("", "add `authors`, a list of persons or organisations"),
        Some(authors) if authors.as_array().is_some_and(Vec::is_empty) => {
            ("/authors", "name at least one person or organisation")
        }
        Some(_) => return,
    };
    report.value(pointer, "the manifest names no authors").help(help);
}
