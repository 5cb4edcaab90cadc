use crate::check::rules::prelude::*;

pub(crate) static RULE: Rule = Rule {
    name: "manifest/duplicate-key",
    level: Level::Error,
    summary: "an object in agent.json has the same key twice",
    why: "JSON readers disagree about which of the two values counts, so a reviewer and a client may see different agents.",
    fix: "Keep one of the two members.",
    fails: Example::Manifest("\"name\": \"One\",\n  \"name\" : \"Another\""),
    marks: "\"name\"",
    passes: Example::Manifest("\"name\": \"One\""),
    check: CheckFn::Manifest(check),
};

/// Maximum number of keys to report, since JSON pointers in a hostile file can be long.
const MOST: usize = 50;

fn check(subject: &Subject<'_>, report: &mut Reporter<'_>) {
    if !subject.manifest.has_duplicate_keys() {
        return;
    }
    for (pointer, range) in subject.manifest.places().repeated_keys(MOST) {
        let key = pointer.rsplit('/').next().unwrap_or_default().replace("~1", "/").replace("~0", "~");
        let message = format!("the object has the key {} twice", quote(&key));
        report.member(pointer, range, message).help("keep one of the two members");
    }
}
