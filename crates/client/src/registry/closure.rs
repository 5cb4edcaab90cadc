//! Reads the closures that lie beside manifests.

use std::io;

use acp_registry_host::fs::{ReadError, read_bounded};
use acp_registry_plan::closure::{CLOSURE_LIMIT, PublishedClosure, WrongClosure, file_name};
use acp_registry_plan::manifest::{Agent, Manifest, PackageKind};

use super::Registry;

/// Why a closure beside a manifest is not used.
#[derive(Debug, thiserror::Error)]
pub enum ClosureProblem {
    /// The file cannot be read.
    #[error("{0}")]
    Read(ReadError),
    /// Its content is not that of a closure of the manifest's package.
    #[error(transparent)]
    Wrong(#[from] WrongClosure),
}

impl Registry {
    /// Whether there is a file of a closure. Of an agent without one, the manifest need not be read again.
    fn has_closures(&self, id: &str, manifest: &Manifest) -> bool {
        [PackageKind::Npx, PackageKind::Uvx].into_iter().filter(|kind| manifest.has_package(*kind)).any(|kind| {
            let found = self.root.join(id).join(file_name(kind)).symlink_metadata();
            !found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        })
    }

    /// The closures that the folder of an agent has of the packages in its manifest. They are read now, and not kept.
    pub fn closures(
        &self,
        id: &str,
        manifest: &Manifest,
    ) -> impl Iterator<Item = (PackageKind, Result<PublishedClosure, ClosureProblem>)> {
        let agent = self.has_closures(id, manifest).then(|| Agent::from_json(&manifest.value()));
        let packages = agent.iter().flat_map(|agent| agent.distribution.packages());
        let packages: Vec<_> = packages.map(|(kind, package)| (kind, package.package.clone())).collect();
        packages.into_iter().filter_map(move |(kind, package)| {
            let path = self.root.join(id).join(file_name(kind));
            let bytes = match read_bounded(&path, &self.root, CLOSURE_LIMIT) {
                Err(ReadError::NotFound) => return None,
                Err(error) => return Some((kind, Err(ClosureProblem::Read(error)))),
                Ok(bytes) => bytes,
            };
            // What is no text is no list either.
            let text = String::from_utf8_lossy(&bytes);
            Some((kind, PublishedClosure::new(kind, &package, &text).map_err(ClosureProblem::from)))
        })
    }
}
