//! What the header of a program says about the systems that it runs on.

#[cfg(target_os = "linux")]
use super::super::Compression;
use super::super::testing::{
    ELF_AARCH64, ELF_X86_64, MAC_ARM64, MAC_X86_64, PE_AMD64, PE_ARM64, PE_I386, elf, mach_o, pe, universal,
};
use super::super::{Fit, Machine, Mismatch, Program};
use super::*;
use acp_registry_plan::manifest::Platform::{
    self, DarwinAarch64, DarwinX8664, LinuxAarch64, LinuxX8664, WindowsAarch64, WindowsX8664,
};

const EXECUTE: u32 = 2;

fn fits(bytes: &[u8]) -> Vec<Platform> {
    let program = Program::examine(Cursor::new(bytes));
    Platform::ALL.into_iter().filter(|&platform| program.fits("agent", platform) == Ok(Fit::Fits)).collect()
}

#[test]
fn every_header_fits_its_platforms_only() {
    assert_eq!(fits(&elf(ELF_X86_64, 0)), [LinuxX8664]);
    assert_eq!(fits(&elf(ELF_AARCH64, 3)), [LinuxAarch64]);
    assert_eq!(fits(&elf(243, 0)), []);
    assert_eq!(fits(&elf(ELF_X86_64, 9)), []);
    assert_eq!(fits(&mach_o(MAC_ARM64, EXECUTE)), [DarwinAarch64]);
    assert_eq!(fits(&mach_o(MAC_X86_64, EXECUTE)), [DarwinX8664]);
    assert_eq!(fits(&universal(&[MAC_X86_64, MAC_ARM64])), [DarwinAarch64, DarwinX8664]);
    assert_eq!(fits(&universal(&[MAC_X86_64])), [DarwinX8664]);
    assert_eq!(fits(&pe(PE_AMD64, 2)), [WindowsX8664]);
    assert_eq!(fits(&pe(PE_ARM64, 2)), [WindowsAarch64]);
    assert_eq!(fits(&pe(PE_I386, 2)), [WindowsX8664]);
}

#[test]
fn the_wrong_system_and_the_wrong_machine_are_told_apart() {
    let mismatch = |bytes: &[u8], platform| Program::examine(Cursor::new(bytes)).fits("agent", platform).unwrap_err();
    assert_eq!(mismatch(&elf(ELF_X86_64, 0), DarwinX8664), Mismatch::System { found: "linux", wanted: "darwin" });
    assert_eq!(mismatch(&elf(ELF_X86_64, 9), LinuxX8664).to_string(), "is a program for freebsd, not for linux");
    assert_eq!(
        mismatch(&elf(ELF_AARCH64, 0), LinuxX8664),
        Mismatch::Machine { found: vec![Machine::Aarch64], wanted: Machine::X8664, emulated: false }
    );
    assert_eq!(
        mismatch(&mach_o(MAC_X86_64, EXECUTE), DarwinAarch64).to_string(),
        "is a program for x86_64, not for aarch64; it runs only where the system can emulate that machine"
    );
    assert!(matches!(mismatch(&pe(PE_AMD64, 2), WindowsAarch64), Mismatch::Machine { emulated: true, .. }));
    assert!(matches!(mismatch(&pe(PE_ARM64, 2), WindowsX8664), Mismatch::Machine { emulated: false, .. }));
}

#[test]
fn what_cannot_be_started_fits_nowhere() {
    let mut object = elf(ELF_X86_64, 0);
    object[16] = 1;
    let mut pointing_nowhere = elf(ELF_X86_64, 0);
    pointing_nowhere[32..40].fill(0xff);
    let cut_pe = &pe(PE_AMD64, 2)[..70];
    for bytes in [
        &object[..],
        &pointing_nowhere,
        b"\x7fELF\x02\x01\x01",
        b"\x7fELF",
        &mach_o(MAC_ARM64, 6),
        b"\xcf\xfa\xed\xfe",
        b"\xca\xfe\xba\xbe\0\0\0\x02",
        &pe(PE_AMD64, 0x2002),
        cut_pe,
        b"MZ",
    ] {
        let program = Program::examine(Cursor::new(bytes));
        assert!(matches!(program, Program::Unusable(_)), "{bytes:?}: {program:?}");
        assert!(program.fits("agent", LinuxX8664).is_err());
    }
}

#[test]
fn scripts_are_judged_by_what_the_system_starts() {
    assert_eq!(
        Program::examine(Cursor::new("#! /usr/bin/env node\r\nx")),
        Program::Script { interpreter: "/usr/bin/env node".to_owned(), has_return: true }
    );
    for (text, name, is_unix, is_windows) in [
        ("#!/bin/sh\n", "a", true, true),
        ("#!/bin/sh", "a", true, true),
        ("#!/bin/sh\r\n", "a", false, true),
        ("@echo off\r\n", "a.cmd", false, true),
        ("@echo off\r\n", "a.exe", false, false),
        ("console.log(1)", "a.js", false, true),
        ("\u{ca}\u{fe}", "a", false, true),
        ("\u{feff}#!/bin/sh\n", "a", false, true),
        ("", "a.cmd", false, false),
        ("<!DOCTYPE html>", "a.cmd", false, false),
        ("<?xml version='1.0'?>", "a", false, false),
        ("{\"a\": 1}", "a", false, false),
        ("version https://git-lfs.github.com/spec/v1\n", "a.bat", false, false),
        ("PK\u{3}\u{4}", "a.exe", false, false),
        ("PK\u{5}\u{6}", "a", false, false),
    ] {
        let program = Program::examine(Cursor::new(text));
        for (platform, fits) in [(LinuxX8664, is_unix), (DarwinAarch64, is_unix), (WindowsX8664, is_windows)] {
            let found = program.fits(name, platform);
            assert_eq!(found == Ok(Fit::NotJudged), fits, "{text:?} {name} {platform}: {found:?}");
        }
    }
    assert_eq!(
        Program::examine(Cursor::new(b"\xca\xfe\xba\xbe\0\0\0\x34")),
        Program::Unusable("a universal Mach-O file with a broken header")
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_real_program_is_known_with_what_it_needs() {
    let check = |program: Program| {
        let platform: Platform = format!("linux-{}", std::env::consts::ARCH).parse().unwrap();
        assert_eq!(program.fits("agent", platform), Ok(Fit::Fits));
        let Program::Elf { interpreter, glibc, .. } = program else { panic!("{program:?}") };
        if cfg!(target_env = "gnu") {
            assert!(interpreter.unwrap().contains("ld-linux"));
            let glibc = glibc.unwrap();
            assert!(glibc.major == 2 && glibc.minor >= 17, "{glibc}");
        }
    };
    // The test executable and the smaller shell are programs for this platform.
    check(Program::examine(fs::File::open("/proc/self/exe").unwrap()));
    let bytes = fs::read("/bin/sh").unwrap();
    check(listed(&Tar::default().file("agent", &bytes).compressed(Compression::Gzip)).unwrap().program.unwrap());
    check(listed(&Zip::new().file("agent", &bytes).bytes()).unwrap().program.unwrap());
    check(streamed(&bytes).unwrap().program.unwrap());
}

#[test]
fn a_link_leads_to_the_program_that_is_examined() {
    let program = elf(ELF_AARCH64, 0);
    for tar in [
        Tar::default().file("lib/x", &program).symlink("agent", "lib/x"),
        Tar::default().symlink("agent", "lib/x").file("lib/x", &program),
        Tar::default().file("lib/x", &program).hardlink("agent", "lib/x"),
    ] {
        let bytes = tar.bytes();
        let listing = listed(&bytes).unwrap();
        assert!(matches!(listing.program, Some(Program::Elf { machine: Machine::Aarch64, .. })));
        let stream = streamed(&bytes).unwrap();
        assert_eq!((stream.program, stream.entries), (None, listing.entries));
    }
}
