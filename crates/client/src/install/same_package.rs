//! Whether two manifests name the same package.

use super::Kind;
use acp_registry_plan::manifest::{NpmSpec, PypiSpec};
use acp_registry_sources::pypi::normalized;

/// Whether two specifications name the same version of the same package, however they are written.
#[must_use]
pub(crate) fn is_same_package(kind: Kind, a: &str, b: &str) -> bool {
    if a == b {
        return true;
    }
    match kind {
        Kind::Npx => match (a.parse::<NpmSpec>(), b.parse::<NpmSpec>()) {
            (Ok(a), Ok(b)) => a.name == b.name && a.pin == b.pin,
            _ => false,
        },
        Kind::Uvx => match (a.parse::<PypiSpec>(), b.parse::<PypiSpec>()) {
            (Ok(a), Ok(b)) => normalized(&a.name) == normalized(&b.name) && a.pin == b.pin,
            _ => false,
        },
        Kind::Binary => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_compared_by_what_they_mean() {
        for (kind, a, b, expected) in [
            (Kind::Npx, "@s/p@1.0.0", "@s/p@1.0.0", true),
            (Kind::Npx, "p@1.0.0", "q@1.0.0", false),
            (Kind::Npx, "p@1.0.0", "p@1.0.1", false),
            (Kind::Npx, "p@1.0.0", "git+https://h.example/p", false),
            (Kind::Uvx, "My_Tool==1.0.0", "my-tool==1.0.0", true),
            (Kind::Uvx, "tool[acp]==1.0.0", "tool==1.0.0", true),
            (Kind::Uvx, "tool==1.0.0", "tool==1.0.1", false),
            (Kind::Binary, "a", "b", false),
        ] {
            assert_eq!(is_same_package(kind, a, b), expected, "{a} {b}");
        }
    }
}
