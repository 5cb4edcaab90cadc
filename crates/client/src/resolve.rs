//! RESOLVE: which version, for which platform, from where, by which runtime; an id to a plan.
//!
//! The decisions are those of [`acp_registry_plan::resolve`], which needs no machine; [`host()`] examines this one.

pub use acp_registry_plan::resolve::*;

use acp_registry_host::abilities::{emulates_x86_64, lacks_glibc};
use acp_registry_host::process::Environment;
use acp_registry_plan::manifest::Platform;

/// Examines this machine; programs are looked for in `environment`.
#[must_use]
pub fn host(environment: &Environment) -> Host {
    let platform = Platform::host();
    let emulated = match platform {
        Some(Platform::DarwinAarch64) => Some(Platform::DarwinX8664),
        Some(Platform::WindowsAarch64) => Some(Platform::WindowsX8664),
        _ => None,
    };
    let has = |program: &str| environment.find(program).is_some();
    Host {
        platform,
        emulated: emulated.filter(|_| emulates_x86_64()),
        lacks_glibc: lacks_glibc(),
        has_npm: has("npm") && has("node"),
        has_uv: has("uv"),
    }
}
