//! How a version is started and where it comes from, as documents have it.

use std::path::PathBuf;

use acp_registry_plan::documents;

use super::{Launch, Store, Version};
use crate::resolve::Plan;

impl Version {
    /// The document of this version, started by `launch` with these directories at the end of `PATH`.
    #[must_use]
    pub fn document(&self, launch: Launch, path: Vec<PathBuf>) -> documents::Launch {
        let receipt = self.receipt.clone();
        documents::Launch {
            id: receipt.id,
            version: receipt.version,
            distribution: receipt.distribution,
            platform: receipt.platform,
            program: Some(launch.program),
            args: launch.args,
            env: launch.env.into_iter().map(|(name, value)| (name, value.into())).collect(),
            installed: true,
            install_dir: self.directory.clone(),
            archive: receipt.archive,
            package: receipt.package,
            sha256: receipt.sha256,
            integrity: receipt.integrity,
            verified: receipt.verified,
            index_sha256: receipt.index_sha256,
            installation: Some(documents::Installation {
                path,
                installed_at: receipt.installed_at,
                size: receipt.size,
                scripts_not_run: receipt.scripts_not_run,
                scripts_ignored_by: receipt.scripts_ignored_by,
                answers: receipt.answers,
            }),
        }
    }
}

impl Store {
    /// The document of a plan, which would be installed into this store.
    #[must_use]
    pub fn document(&self, plan: &Plan) -> documents::Launch {
        let place = self.place(&plan.id, &plan.folder());
        documents::Launch::planned(plan, &place, &Self::files(&place))
    }
}
