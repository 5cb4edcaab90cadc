use crate::check::rule::ClosureFile;
use crate::check::rules::prelude::*;
use acp_registry_plan::manifest::NpmSpec;
use acp_registry_plan::text::{brief_list, plural};

pub(crate) static RULE: Rule = Rule {
    name: "closure/newer",
    level: Level::Error,
    summary: "a package that an agent needs was published long after the agent's own version",
    why: "The publisher of the agent has not tried it. A list that has only what was there when the version was published \
          is the same whenever it is made, and does not have what was smuggled into a package since.",
    fix: "Make the list again with `acp-registry verify ID --closures`, or allow more days with `max-days-newer` below \
          `[closures]` in `registry.toml`.",
    fails: Example::Files(&[
        ("example/icon.svg", ICON),
        ("example/agent.json", AGENT),
        (
            "example/package-lock.json",
            "{ \"lockfileVersion\": 3, \"packages\": { \"node_modules/example\": { \"version\": \"1.0.0\", \"integrity\": \"sha512-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==\", \"dependencies\": { \"left\": \"1\" }, \"published\": \"2026-03-01\" }, \"node_modules/left\": { \"version\": \"1.9.0\", \"integrity\": \"sha512-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==\", \"published\": \"2026-03-20\" } } }\n",
        ),
    ]),
    marks: "",
    passes: Example::Files(&[
        ("example/icon.svg", ICON),
        ("example/agent.json", AGENT),
        (
            "example/package-lock.json",
            "{ \"lockfileVersion\": 3, \"packages\": { \"node_modules/example\": { \"version\": \"1.0.0\", \"integrity\": \"sha512-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==\", \"dependencies\": { \"left\": \"1\" }, \"published\": \"2026-03-01\" }, \"node_modules/left\": { \"version\": \"1.9.0\", \"integrity\": \"sha512-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==\", \"published\": \"2026-03-02\" } } }\n",
        ),
    ]),
    check: CheckFn::Closure(check),
};

const ICON: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\" viewBox=\"0 0 16 16\"><path fill=\"currentColor\" d=\"M0 0h16v16z\"/></svg>\n";

const AGENT: &str = "{\n  \"id\": \"example\",\n  \"name\": \"Example\",\n  \"version\": \"1.0.0\",\n  \"description\": \"An example\",\n  \"authors\": [\"A\"],\n  \"license\": \"MIT\",\n  \"distribution\": { \"npx\": { \"package\": \"example@1.0.0\" } }\n}\n";

/// How many packages a message names.
const NAMED: usize = 4;

fn check(subject: &Subject<'_>, file: &ClosureFile, report: &mut Reporter<'_>) {
    let days = subject.options.config.closures.max_days_newer;
    let (Ok(closure), Some(lock)) = (&file.closure, &file.npm) else { return };
    let Ok(own) = closure.package.parse::<NpmSpec>() else { return };
    let newer = lock.newer(&own.name, days);
    if newer.is_empty() {
        return;
    }
    let names = newer.into_iter().map(|(path, package)| {
        let name = format!("{}@{}", package.name(path), package.version.as_deref().unwrap_or_default());
        package.published.map_or_else(|| quote(&name), |day| format!("{} of {day}", quote(&name)))
    });
    let message = format!(
        "it has packages that were published more than {} after the agent's version: {}",
        plural(days.into(), "day"),
        brief_list(names, NAMED)
    );
    report.file(message).help(format!("make it again with `acp-registry verify {} --closures`", subject.folder));
}
