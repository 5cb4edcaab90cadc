use crate::check::rules::prelude::*;
use acp_registry_plan::manifest::{BinaryTarget, Platform};

pub(crate) static RULE: Rule = Rule {
    name: "distribution/inconsistent-targets",
    level: Level::Warning,
    summary: "arguments or environment differ between platforms",
    why: "An agent should behave the same on every platform; a difference usually means that a change was made for one \
          platform and forgotten for the others.",
    fix: "Give all platforms the same `args` and `env`, or switch the rule off if the difference is intended.",
    fails: Example::Target(
        "{ \"archive\": \"https://example.com/1.0.0/linux.zip\", \"cmd\": \"./agent\", \"args\": [\"serve\"] }",
    ),
    marks: "[\"serve\"]",
    passes: Example::Target("{ \"archive\": \"https://example.com/1.0.0/linux.zip\", \"cmd\": \"./agent\" }"),
    check: CheckFn::Manifest(check),
};

fn check(subject: &Subject<'_>, report: &mut Reporter<'_>) {
    for release in subject.agent().releases() {
        // Unknown platforms are reported by the schema rule, and could be thousands in a hostile manifest.
        let targets = release.distribution.binary.iter().filter(|target| target.platform.parse::<Platform>().is_ok());
        let targets: Vec<&BinaryTarget> = targets.collect();
        for (member, differs) in [("args", differ_in_args as fn(&_, &_) -> bool), ("env", differ_in_env)] {
            let Some(usual) = most_common(&targets, differs) else { continue };
            for target in targets.iter().filter(|target| differs(target, usual)) {
                report
                    .value(
                        release.target_pointer(target, member),
                        format!("`{member}` of {} differs from {}", quote(&target.platform), quote(&usual.platform)),
                    )
                    .help("give all platforms the same arguments and environment");
            }
        }
    }
}

/// The target that agrees with most others; the first if there are several.
fn most_common<'a>(
    targets: &[&'a BinaryTarget],
    differs: fn(&BinaryTarget, &BinaryTarget) -> bool,
) -> Option<&'a BinaryTarget> {
    let agreeing = |target: &BinaryTarget| targets.iter().filter(|other| !differs(target, other)).count();
    targets.iter().rev().copied().max_by_key(|target| agreeing(target))
}

fn differ_in_args(a: &BinaryTarget, b: &BinaryTarget) -> bool {
    a.args != b.args
}

fn differ_in_env(a: &BinaryTarget, b: &BinaryTarget) -> bool {
    a.env.len() != b.env.len() || a.env.iter().any(|pair| !b.env.contains(pair))
}
