//! Computes what a verdict is based on, so that it can be reused while that stays the same.

use acp_registry_client::install::Source;
use acp_registry_plan::digest::Sha256;

/// Version of the checks. Increase it when a change to this program can change a verdict.
const CHECKS: u32 = 2;

/// A digest of everything that affects a verdict: package or archive, digest, command, arguments, variables and
/// [`CHECKS`].
///
/// It hashes the `Debug` output, which includes all fields, even those added later. If that output changes, agents are
/// only checked once more than needed.
pub(super) fn basis(source: &Source) -> String {
    Sha256::of(format!("{CHECKS} {source:?}")).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use acp_registry_plan::manifest::Package;

    #[test]
    fn every_member_counts() {
        let package = |package: &str, args: &[&str], value: &str| {
            let env = vec![("A".to_owned(), value.to_owned())];
            let args = args.iter().map(|arg| (*arg).to_owned()).collect();
            Package { package: package.to_owned(), args, env, ..Package::default() }
        };
        let all = [
            Source::Npx(package("a@1.0.0", &["x"], "1")),
            Source::Uvx(package("a@1.0.0", &["x"], "1")),
            Source::Npx(package("a@1.0.1", &["x"], "1")),
            Source::Npx(package("a@1.0.0", &["x", ""], "1")),
            Source::Npx(package("a@1.0.0", &["x"], "2")),
        ];
        let digests: std::collections::BTreeSet<String> = all.iter().map(basis).collect();
        assert_eq!(digests.len(), all.len());
        assert_eq!(basis(&all[0]), basis(&all[0].clone()));
    }
}
