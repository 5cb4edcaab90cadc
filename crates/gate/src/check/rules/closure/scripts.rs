use std::collections::BTreeMap;

use crate::check::rule::ClosureFile;
use crate::check::rules::prelude::*;
use acp_registry_plan::manifest::NpmSpec;
use acp_registry_plan::text::printable;

pub(crate) static RULE: Rule = Rule {
    name: "closure/scripts",
    level: Level::Warning,
    summary: "a dependency of an agent has install scripts that the registry has not approved",
    why: "npm runs the scripts with the rights of the person who installs the agent. The manifest approves those of its own \
          package; a dependency can get some with any new version. If an approved version has other bytes, it is an error.",
    fix: "Look at what the scripts do, and write name, version and digest of the package into `allow-scripts` below \
          `[npm.ID]` in `registry.toml`.",
    fails: Example::Files(&[
        ("example/icon.svg", ICON),
        ("example/agent.json", AGENT),
        ("example/package-lock.json", LIST),
    ]),
    marks: "",
    passes: Example::Files(&[
        ("example/icon.svg", ICON),
        ("example/agent.json", AGENT),
        ("example/package-lock.json", LIST),
        (
            "registry.toml",
            "[npm.example]\nallow-scripts = [\"native@2.0.0 sha512-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==\"]\n",
        ),
    ]),
    check: CheckFn::Closure(check),
};

const ICON: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\" viewBox=\"0 0 16 16\"><path fill=\"currentColor\" d=\"M0 0h16v16z\"/></svg>\n";

const AGENT: &str = "{\n  \"id\": \"example\",\n  \"name\": \"Example\",\n  \"version\": \"1.0.0\",\n  \"description\": \"An example\",\n  \"authors\": [\"A\"],\n  \"license\": \"MIT\",\n  \"distribution\": { \"npx\": { \"package\": \"example@1.0.0\" } }\n}\n";

const LIST: &str = "{ \"lockfileVersion\": 3, \"packages\": { \"node_modules/example\": { \"version\": \"1.0.0\", \"integrity\": \"sha512-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==\", \"hasInstallScript\": true, \"dependencies\": { \"native\": \"2\" } }, \"node_modules/native\": { \"version\": \"2.0.0\", \"integrity\": \"sha512-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==\", \"hasInstallScript\": true } } }\n";

fn check(subject: &Subject<'_>, file: &ClosureFile, report: &mut Reporter<'_>) {
    let approved = subject.options.config.npm.get(subject.folder).map_or(&[][..], |npm| npm.allow_scripts.as_slice());
    let (Ok(closure), Some(lock)) = (&file.closure, &file.npm) else { return };
    let own = closure.package.parse::<NpmSpec>().map(|spec| spec.name).unwrap_or_default();
    let scripted = lock.dependencies_with_scripts(&own).into_iter().map(|found| (found.package, found.digest));
    // Each once.
    for (package, digest) in scripted.collect::<BTreeMap<_, _>>() {
        let item = format!("{package} {digest}");
        if approved.contains(&item) {
            continue;
        }
        // To be copied, so that nothing of it is left out.
        let help =
            format!("look at them, and add `{}` to `allow-scripts` below `[npm.{}]`", printable(&item), subject.folder);
        if approved.iter().any(|one| one.split(' ').next() == Some(package.as_str())) {
            let message =
                format!("{} is approved with another digest: its scripts may do something else", quote(&package));
            report.file(message).help(help).grave();
        } else {
            report.file(format!("{} has install scripts that are not approved", quote(&package))).help(help);
        }
    }
}
