use crate::check::rule::ClosureFile;
use crate::check::rules::prelude::*;
use acp_registry_plan::closure::NpmLock;

pub(crate) static RULE: Rule = Rule {
    name: "closure/unusable",
    level: Level::Error,
    summary: "the list of an agent's packages is for another version, is incomplete, or has entries other than versions with digests",
    why: "Clients install exactly what the list names, so that all users get the same bytes. A list for another version is \
          not published; an address in it, or a package without a digest, would let others decide what is installed.",
    fix: "Make the list again with `acp-registry verify ID --closures`, which asks npm or uv for it.",
    fails: Example::Files(&[
        (
            "example/agent.json",
            "{\n  \"id\": \"example\",\n  \"name\": \"Example\",\n  \"version\": \"1.0.0\",\n  \"description\": \"An example\",\n  \"authors\": [\"A\"],\n  \"license\": \"MIT\",\n  \"distribution\": { \"npx\": { \"package\": \"example@1.0.0\" } }\n}\n",
        ),
        (
            "example/package-lock.json",
            "{ \"lockfileVersion\": 3, \"packages\": { \"node_modules/example\": { \"version\": \"1.0.0\" } } }\n",
        ),
    ]),
    marks: "",
    passes: Example::Files(&[
        (
            "example/icon.svg",
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\" viewBox=\"0 0 16 16\"><path fill=\"currentColor\" d=\"M0 0h16v16z\"/></svg>\n",
        ),
        (
            "example/agent.json",
            "{\n  \"id\": \"example\",\n  \"name\": \"Example\",\n  \"version\": \"1.0.0\",\n  \"description\": \"An example\",\n  \"authors\": [\"A\"],\n  \"license\": \"MIT\",\n  \"distribution\": { \"npx\": { \"package\": \"example@1.0.0\" } }\n}\n",
        ),
        (
            "example/package-lock.json",
            "{ \"lockfileVersion\": 3, \"packages\": { \"node_modules/example\": { \"version\": \"1.0.0\", \"integrity\": \"sha512-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==\" } } }\n",
        ),
    ]),
    check: CheckFn::Closure(check),
};

fn check(subject: &Subject<'_>, file: &ClosureFile, report: &mut Reporter<'_>) {
    let problem = match &file.closure {
        Ok(_) => file
            .npm
            .as_ref()
            .and_then(NpmLock::lacking)
            .map(|(package, name)| format!("it has no {name}, which {package} needs, perhaps on another platform")),
        Err(error) => Some(error.to_string()),
    };
    if let Some(problem) = problem {
        report.file(problem).help(format!("make it again with `acp-registry verify {} --closures`", subject.folder));
    }
}
