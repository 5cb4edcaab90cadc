use crate::check::rules::prelude::*;

const ICON: (&str, &str) = (
    "example/icon.svg",
    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\">\n  <path fill=\"currentColor\" d=\"M2 2h12v12H2z\"/>\n</svg>\n",
);

pub(crate) static RULE: Rule = Rule {
    name: "manifest/missing-license",
    level: Level::Warning,
    summary: "the manifest names no licence",
    why: "The schema does not require it, but a published client does, and rejects the whole index when one agent lacks it.",
    fix: "Add `license`: an SPDX expression, or `proprietary`.",
    fails: Example::Files(&[
        (
            "example/agent.json",
            "{\n  \"id\": \"example\",\n  \"name\": \"Example\",\n  \"version\": \"1.0.0\",\n  \"description\": \"An agent that shows how a manifest looks.\",\n  \"authors\": [\"Example Team\"],\n  \"distribution\": { \"npx\": { \"package\": \"example@1.0.0\" } }\n}\n",
        ),
        ICON,
    ]),
    marks: "{",
    passes: Example::Files(&[
        (
            "example/agent.json",
            "{\n  \"id\": \"example\",\n  \"name\": \"Example\",\n  \"version\": \"1.0.0\",\n  \"description\": \"An agent that shows how a manifest looks.\",\n  \"authors\": [\"Example Team\"], \"license\": \"MIT\",\n  \"distribution\": { \"npx\": { \"package\": \"example@1.0.0\" } }\n}\n",
        ),
        ICON,
    ]),
    check: CheckFn::Manifest(check),
};

fn check(subject: &Subject<'_>, report: &mut Reporter<'_>) {
    if subject.value().as_object().is_some_and(|members| !members.contains_key("license")) {
        report.value("", "the manifest names no licence").help("add `license`: an SPDX expression, or `proprietary`");
    }
}
