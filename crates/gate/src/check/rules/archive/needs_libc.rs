use super::{TARGET, fine, found, inspected};
use crate::check::rules::prelude::*;
use crate::survey::Inspection;
use acp_registry_archive::{Glibc, Machine, Program};

pub(crate) static RULE: Rule = Rule {
    name: "archive/needs-libc",
    level: Level::Warning,
    summary: "a Linux program needs a C library that many systems do not have",
    why: "The program was built for musl, or for a newer glibc than common systems have. There it does not start, and \
          the error, such as \"no such file\", does not name the cause.",
    fix: "Link the program statically, or build it on an older system.",
    fails: Example::Online(&Online {
        manifest: TARGET,
        world: "The program agent needs the dynamic loader /lib/ld-musl-x86_64.so.1.",
        answers: |survey| {
            found(
                survey,
                Ok(Inspection {
                    program: Some(Program::Elf {
                        machine: Machine::X8664,
                        system: "linux",
                        interpreter: Some("/lib/ld-musl-x86_64.so.1".to_owned()),
                        glibc: None,
                    }),
                    ..fine()
                }),
            );
        },
    }),
    marks: "\"./agent\"",
    passes: Example::Online(&Online {
        manifest: TARGET,
        world: "The program agent is linked statically.",
        answers: |survey| found(survey, Ok(fine())),
    }),
    check: CheckFn::Online(check),
};

/// The newest glibc that common systems have: that of Ubuntu 22.04.
const COMMON: Glibc = Glibc { major: 2, minor: 35 };

/// Paths of glibc's dynamic loader.
const LOADERS: &[&str] = &["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];

fn check(subject: &Subject<'_>, survey: &Survey, report: &mut Reporter<'_>) {
    for (release, target, inspection) in inspected(subject, survey) {
        let Some(Program::Elf { machine: Machine::X8664 | Machine::Aarch64, interpreter, glibc, .. }) =
            &inspection.program
        else {
            continue;
        };
        let message = match (interpreter, glibc) {
            (Some(loader), _) if !LOADERS.contains(&loader.as_str()) => {
                format!("the program needs the dynamic loader {}, which a plain Linux does not have", quote(loader))
            }
            (_, Some(glibc)) if *glibc > COMMON => {
                format!("the program needs glibc {glibc}, and many systems have {COMMON} or older")
            }
            _ => continue,
        };
        report
            .value(release.target_pointer(target, "cmd"), message)
            .help("link the program statically, or build it on an older system");
    }
}
