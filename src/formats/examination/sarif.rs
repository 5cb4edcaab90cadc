//! SARIF of examinations: violations of requirements are errors, of recommendations and expectations warnings. Checks that
//! passed or could not run have no result, because readers show every result as a problem.

use acp_registry::check::RULES;
use acp_registry::examination::{CHECKS, Check, CheckRecord, CheckVerdict, Force};
use acp_registry::text::printable;
use serde_json::{Value, json};

use crate::formats::examination::examinee::Examinee;
use crate::formats::sarif::{artifact, descriptor, digest, log};

/// The rule for an agent that could not be examined at the required level.
const UNEXAMINED: &str = "examination/required-level";

/// Renders the results of agents.
#[must_use]
pub(crate) fn sarif(examinees: &[Examinee<'_>]) -> String {
    let rules = rules();
    let results = examinees.iter().flat_map(|examinee| {
        let handshake = examinee.fails_handshake().then(|| {
            let rule = examinee.rule.map_or(UNEXAMINED, |rule| rule.name);
            (rule.to_owned(), "error", examinee.why())
        });
        let checks = examinee.record.iter().flat_map(|record| &record.checks).filter_map(problem);
        handshake.into_iter().chain(checks).map(|problem| result(examinee, &rules, &problem)).collect::<Vec<_>>()
    });
    log(&rules, &results.collect::<Vec<_>>())
}

/// The rules of the handshake, and the checks.
fn rules() -> Vec<Value> {
    let unexamined = json!({
        "id": UNEXAMINED,
        "shortDescription": { "text": "the agent could not be examined at the required level" },
        "help": { "text": "Run the examination again with -v, and see which checks could not run." },
        "defaultConfiguration": { "level": "error" },
    });
    let handshake = RULES.iter().filter(|rule| rule.group() == "handshake").map(|rule| descriptor(rule));
    handshake.chain([unexamined]).chain(CHECKS.iter().map(|check| rule(check))).collect()
}

fn rule(check: &Check) -> Value {
    let markdown = format!(
        "{}\n\nThe check is based on the page `{}`.\n\nDoes not pass:\n\n```text\n{}\n```\n\nPasses:\n\n```text\n{}\n```\n",
        check.fix, check.spec, check.fails, check.passes
    );
    json!({
        "id": check.id,
        "shortDescription": { "text": check.summary },
        "fullDescription": { "text": check.why },
        "help": { "text": check.fix, "markdown": markdown },
        "defaultConfiguration": { "level": if check.force == Force::Must { "error" } else { "warning" } },
        "properties": { "force": check.force, "tags": [check.level] },
    })
}

/// Rule, level and message of a check that did not pass.
fn problem(check: &CheckRecord) -> Option<(String, &'static str, String)> {
    let level = match check.verdict {
        CheckVerdict::Fail => "error",
        CheckVerdict::Warning => "warning",
        CheckVerdict::Pass | CheckVerdict::NotExercised => return None,
    };
    let message = check.message.as_deref().unwrap_or("the check did not pass");
    Some((printable(&check.id).into_owned(), level, printable(message).into_owned()))
}

fn result(examinee: &Examinee<'_>, rules: &[Value], (rule, level, message): &(String, &str, String)) -> Value {
    let name = printable(&examinee.name);
    let mut result = json!({
        "ruleId": rule,
        "level": level,
        "message": { "text": format!("{name}: {message}") },
        "locations": [{
            "physicalLocation": { "artifactLocation": artifact(&examinee.file) },
            "logicalLocations": [{ "name": name, "kind": "module" }],
        }],
        // Messages contain what differs between runs.
        "partialFingerprints": { "check/v1": digest(&[rule, &examinee.file, &examinee.name]) },
    });
    if let Some(index) = rules.iter().position(|known| known["id"] == **rule) {
        result["ruleIndex"] = json!(index);
    }
    result
}
