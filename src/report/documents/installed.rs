use std::path::PathBuf;

use acp_registry_client::resolve::Plan;
use acp_registry_client::store::{self, Store};

use super::{Installation, Launch};

/// Describes an installed version, started by `launch` with these directories at the end of `PATH`.
#[must_use]
pub fn installed(version: &store::Version, launch: store::Launch, path: Vec<PathBuf>) -> Launch {
    let receipt = version.receipt.clone();
    Launch {
        id: receipt.id,
        version: receipt.version,
        distribution: receipt.distribution,
        platform: receipt.platform,
        program: Some(launch.program),
        args: launch.args,
        env: launch.env.into_iter().map(|(name, value)| (name, value.into())).collect(),
        installed: true,
        install_dir: version.directory.clone(),
        archive: receipt.archive,
        package: receipt.package,
        sha256: receipt.sha256,
        integrity: receipt.integrity,
        verified: receipt.verified,
        index_sha256: receipt.index_sha256,
        installation: Some(Installation {
            path,
            installed_at: receipt.installed_at,
            size: receipt.size,
            scripts_not_run: receipt.scripts_not_run,
            scripts_ignored_by: receipt.scripts_ignored_by,
            answers: receipt.answers,
        }),
    }
}

/// Describes a plan, which installs into a store.
#[must_use]
pub fn planned(plan: &Plan, store: &Store) -> Launch {
    let place = store.place(&plan.id, &plan.folder());
    Launch::of_plan(plan, &place, &Store::files(&place))
}
