use crate::check::icon::IconFile;
use crate::check::rules::prelude::*;
use acp_registry_client::registry::Loaded;

pub(crate) static RULE: Rule = Rule {
    name: "icon/missing",
    level: Level::Warning,
    summary: "there is no icon.svg",
    why: "The RFD makes the icon optional, but clients show agents as a list of icons and names.",
    fix: "Add an `icon.svg` of 16×16, drawn with `currentColor`, beside `agent.json`.",
    fails: Example::Files(&[(
        "example/agent.json",
        "{\n  \"id\": \"example\",\n  \"name\": \"Example\",\n  \"version\": \"1.0.0\",\n  \"description\": \"An agent.\",\n  \
         \"distribution\": { \"npx\": { \"package\": \"example@1.0.0\" } }\n}\n",
    )]),
    marks: "",
    passes: Example::Manifest("\"id\": \"example\""),
    check: CheckFn::IconFile(check),
};

fn check(icon: &IconFile<'_>, report: &mut Reporter<'_>) {
    if matches!(icon.loaded, Loaded::Missing) {
        report.file("there is no icon.svg").help("add an icon of 16×16, drawn with currentColor");
    }
}
