//! Detects what this machine can run besides native programs.

use std::path::Path;

/// The dynamic loaders of glibc, for all architectures.
const GLIBC: &[&str] = &[
    "/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/lib/ld-linux-armhf.so.3", "/lib/ld-linux.so.2",
    "/lib/ld-linux-riscv64-lp64d.so.1", "/lib64/ld64.so.2",
];

/// Whether glibc's dynamic loader is missing, as on systems with musl and on NixOS.
pub fn lacks_glibc() -> bool {
    cfg!(target_os = "linux") && !GLIBC.iter().any(|loader| Path::new(loader).exists())
}

/// Whether x86-64 programs run on this ARM machine: on macOS if Rosetta is installed, on Windows always.
pub fn emulates_x86_64() -> bool {
    let is_arm = cfg!(target_arch = "aarch64");
    let rosetta = Path::new("/Library/Apple/usr/libexec/oah/libRosettaRuntime");
    is_arm && (cfg!(windows) || (cfg!(target_os = "macos") && rosetta.exists()))
}
