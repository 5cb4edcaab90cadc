//! What this machine can run besides its own programs.

use std::path::Path;

/// The dynamic loaders of glibc, by the processor that this program was built for.
const GLIBC: &[&str] = &[
    "/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/lib/ld-linux-armhf.so.3", "/lib/ld-linux.so.2",
    "/lib/ld-linux-riscv64-lp64d.so.1", "/lib64/ld64.so.2",
];

/// Whether programs that need glibc find no loader here, as on systems with musl and on NixOS.
#[must_use]
pub fn lacks_glibc() -> bool {
    cfg!(target_os = "linux") && !GLIBC.iter().any(|loader| Path::new(loader).exists())
}

/// Whether programs for the other processor run here: by Rosetta on a Mac, and always on Windows for 64-bit ARM.
#[must_use]
pub fn emulates_x86_64() -> bool {
    let is_arm = cfg!(target_arch = "aarch64");
    let rosetta = Path::new("/Library/Apple/usr/libexec/oah/libRosettaRuntime");
    is_arm && (cfg!(windows) || (cfg!(target_os = "macos") && rosetta.exists()))
}
