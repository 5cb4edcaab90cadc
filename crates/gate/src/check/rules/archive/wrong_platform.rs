use super::{TARGET, fine, found, inspected};
use crate::check::rules::prelude::*;
use crate::survey::Inspection;
use acp_registry_archive::{Machine, Mismatch, Program};
use acp_registry_plan::manifest::Platform;

pub(crate) static RULE: Rule = Rule {
    name: "archive/wrong-platform",
    level: Level::Error,
    summary: "the program is for another platform",
    why: "It does not start. The archives of two platforms were swapped, or built on the wrong machine, or the file is no \
          program: a pointer of Git LFS, a page, a text without `#!`.",
    fix: "Name the archive that was built for this platform, and that has the program itself.",
    fails: Example::Online(&Online {
        manifest: TARGET,
        world: "The program agent was built for aarch64.",
        answers: |survey| {
            found(
                survey,
                Ok(Inspection {
                    program: Some(Program::Elf {
                        machine: Machine::Aarch64,
                        system: "linux",
                        interpreter: None,
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
        world: "The program agent was built for this platform.",
        answers: |survey| found(survey, Ok(fine())),
    }),
    check: CheckFn::Online(check),
};

fn check(subject: &Subject<'_>, survey: &Survey, report: &mut Reporter<'_>) {
    for (release, target, inspection) in inspected(subject, survey) {
        let (Some(program), Ok(platform)) = (&inspection.program, target.platform.parse::<Platform>()) else {
            continue;
        };
        if let Err(mismatch) = program.fits(&target.cmd, platform) {
            let help = match mismatch {
                Mismatch::System { .. } | Mismatch::Machine { .. } => {
                    format!("name the archive that was built for {platform}")
                }
                Mismatch::CarriageReturn => "write the script with line feeds only".to_owned(),
                _ => "put the program itself into the archive".to_owned(),
            };
            report
                .value(release.target_pointer(target, "cmd"), format!("{} {mismatch}", quote(&target.cmd)))
                .help(help);
        }
    }
}
