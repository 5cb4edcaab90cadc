//! Files of a tree that are rendered when they are needed, so that a large tree need not fit into memory.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use acp_registry_core::digest::Sha256;

/// How many bytes of rendered files are kept in memory. The files beyond are rendered again when they are written.
const KEPT: usize = 64 << 20;

/// Renders some files: their names and contents. Each call returns the same.
pub type Render<'a> = Box<dyn Fn() -> Result<Vec<(String, Vec<u8>)>, RenderError> + Send + Sync + 'a>;

/// Why files cannot be rendered.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct RenderError(Box<dyn Error + Send + Sync>);

impl RenderError {
    /// Wraps the cause.
    pub fn new(cause: impl Error + Send + Sync + 'static) -> Self {
        Self(Box::new(cause))
    }
}

/// Name, size and digest of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The path in the tree.
    pub name: String,
    /// The size in bytes.
    pub size: usize,
    /// The digest of the content.
    pub digest: Sha256,
}

impl Listed {
    pub(super) fn of(name: &str, bytes: &[u8]) -> Self {
        Self { name: name.to_owned(), size: bytes.len(), digest: Sha256::of(bytes) }
    }
}

/// Files that are rendered together.
pub(super) struct Part<'a> {
    pub(super) files: Vec<Listed>,
    contents: Contents<'a>,
}

enum Contents<'a> {
    Kept(Vec<Vec<u8>>),
    Again(Render<'a>),
}

impl<'a> Part<'a> {
    /// Renders the parts in parallel, and keeps the contents of the first ones.
    pub(super) fn all(renders: Vec<Render<'a>>) -> Result<Vec<Arc<Self>>, RenderError> {
        let kept = AtomicUsize::new(0);
        let part = |render: Render<'a>| {
            let rendered = render()?;
            let files = rendered.iter().map(|(name, bytes)| Listed::of(name, bytes)).collect();
            let size = rendered.iter().map(|(_, bytes)| bytes.len()).sum();
            let is_kept = kept.fetch_add(size, Ordering::Relaxed) + size <= KEPT;
            let contents = || Contents::Kept(rendered.into_iter().map(|(_, bytes)| bytes).collect());
            Ok(Arc::new(Self { files, contents: if is_kept { contents() } else { Contents::Again(render) } }))
        };
        renders.into_par_iter().map(part).collect()
    }

    /// Calls `each` with every file and its content.
    pub(super) fn each<E: From<RenderError>>(
        &self,
        mut each: impl FnMut(&Listed, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        match &self.contents {
            Contents::Kept(contents) => self.files.iter().zip(contents).try_for_each(|(file, bytes)| each(file, bytes)),
            Contents::Again(render) => {
                self.files.iter().zip(render()?).try_for_each(|(file, (_, bytes))| each(file, &bytes))
            }
        }
    }
}
