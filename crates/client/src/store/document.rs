//! How a version is started and where it comes from, as documents have it.

use std::path::PathBuf;

use acp_registry_plan::documents;

use super::{Store, Version};
use crate::install::Start;
use crate::resolve::Plan;

impl Version {
    /// The document of this version, started by `start` with these directories at the end of `PATH`.
    #[must_use]
    pub fn document(&self, start: Start, path: Vec<PathBuf>) -> documents::Launch {
        let receipt = self.receipt.clone();
        documents::Launch {
            id: receipt.id,
            version: receipt.version,
            distribution: receipt.source.kind().as_str().to_owned(),
            platform: receipt.platform.map(|platform| platform.as_str().to_owned()),
            program: Some(start.program),
            args: start.args,
            env: start.env.into_iter().map(|(name, value)| (name, value.into())).collect(),
            installed: true,
            install_dir: self.directory.clone(),
            archive: receipt.source.target().map(|target| target.archive.clone()),
            package: receipt.source.package().map(|package| package.package.clone()),
            sha256: receipt.proof.sha256.map(|digest| digest.to_string()),
            integrity: receipt.proof.integrity,
            verified: receipt.proof.verified.as_str().to_owned(),
            index_sha256: receipt.index_sha256,
            installation: Some(documents::Installation {
                path,
                installed_at: receipt.installed_at,
                size: receipt.size,
                scripts_not_run: receipt.remarks.scripts_not_run.packages,
                scripts_ignored_by: receipt.remarks.scripts_not_run.ignored_by,
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
