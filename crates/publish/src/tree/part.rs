//! Files of a tree that are rendered when they are needed, so that a large tree need not fit into memory.

use std::error::Error;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{io, iter};

use rayon::prelude::*;

use acp_registry_plan::digest::Sha256;

/// How many bytes of rendered files are kept in memory. The files beyond are rendered again when they are written.
const KEPT: usize = 32 << 20;

/// How many files of a text are one part.
const WITHIN: usize = 1024;

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
pub struct FileDigest {
    /// The path in the tree.
    pub name: String,
    /// The size in bytes.
    pub size: usize,
    /// The digest of the content.
    pub digest: Sha256,
}

impl FileDigest {
    pub(super) fn of(name: &str, bytes: &[u8]) -> Self {
        Self { name: name.to_owned(), size: bytes.len(), digest: Sha256::of(bytes) }
    }
}

/// Files that are rendered together.
pub(super) struct FileSet<'a> {
    pub(super) files: Vec<FileDigest>,
    contents: Contents<'a>,
}

enum Contents<'a> {
    Kept(Vec<Vec<u8>>),
    Again(Render<'a>),
    /// In a text that is held in memory.
    Within(Arc<String>, Vec<Range<usize>>),
}

impl<'a> FileSet<'a> {
    /// Files that are in a text, by name. Those of a part are written one after the other, so that there are several.
    pub(super) fn within(
        text: &Arc<String>,
        mut files: impl Iterator<Item = (String, Range<usize>)>,
    ) -> impl Iterator<Item = Self> {
        iter::from_fn(move || {
            let (names, places): (Vec<String>, Vec<Range<usize>>) = files.by_ref().take(WITHIN).unzip();
            let pairs = names.par_iter().zip(&places);
            let listed = pairs.map(|(name, place)| FileDigest::of(name, text[place.clone()].as_bytes())).collect();
            let is_end = names.is_empty();
            let contents = Contents::Within(Arc::clone(text), places);
            (!is_end).then_some(Self { files: listed, contents })
        })
    }

    /// Renders the parts in parallel, and keeps the contents of the first ones.
    pub(super) fn all(renders: Vec<Render<'a>>) -> Result<Vec<Arc<Self>>, RenderError> {
        Self::all_within(renders, KEPT)
    }

    fn all_within(renders: Vec<Render<'a>>, limit: usize) -> Result<Vec<Arc<Self>>, RenderError> {
        let kept = AtomicUsize::new(0);
        let part = |render: Render<'a>| {
            let rendered = render()?;
            let files = rendered.iter().map(|(name, bytes)| FileDigest::of(name, bytes)).collect();
            let size = rendered.iter().map(|(_, bytes)| bytes.len()).sum();
            let is_kept = kept.fetch_add(size, Ordering::Relaxed) + size <= limit;
            let contents = || Contents::Kept(rendered.into_iter().map(|(_, bytes)| bytes).collect());
            Ok(Arc::new(Self { files, contents: if is_kept { contents() } else { Contents::Again(render) } }))
        };
        renders.into_par_iter().map(part).collect()
    }

    /// Calls `each` with every file and its content.
    pub(super) fn each<E: From<RenderError>>(
        &self,
        mut each: impl FnMut(&FileDigest, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        match &self.contents {
            Contents::Kept(contents) => self.files.iter().zip(contents).try_for_each(|(file, bytes)| each(file, bytes)),
            Contents::Within(text, places) => {
                let mut files = self.files.iter().zip(places);
                files.try_for_each(|(file, place)| each(file, text[place.clone()].as_bytes()))
            }
            Contents::Again(render) => {
                let rendered = render()?;
                let is_same = |(file, (name, bytes)): (&FileDigest, &(String, Vec<u8>))| {
                    file.name == *name && file.size == bytes.len()
                };
                // The names and digests are already listed in `SHA256SUMS`.
                if rendered.len() != self.files.len() || !self.files.iter().zip(&rendered).all(is_same) {
                    return Err(RenderError::new(io::Error::other("files are rendered differently again")).into());
                }
                self.files.iter().zip(rendered).try_for_each(|(file, (_, bytes))| each(file, &bytes))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A part of one file, whose content depends on how often it was rendered.
    fn counted(calls: &AtomicUsize, content: fn(usize) -> Option<&'static str>) -> Render<'_> {
        Box::new(move || {
            let call = calls.fetch_add(1, Ordering::Relaxed);
            let text = content(call).ok_or_else(|| RenderError::new(io::Error::other("no more")))?;
            Ok(vec![("a".to_owned(), text.as_bytes().to_vec())])
        })
    }

    /// What a part gives when its files are read, and how often it was rendered.
    fn read(limit: usize, content: fn(usize) -> Option<&'static str>) -> (Result<Vec<u8>, String>, usize) {
        let calls = AtomicUsize::new(0);
        let result = FileSet::all_within(vec![counted(&calls, content)], limit).and_then(|parts| {
            let mut found = Vec::new();
            parts[0].each(|file, bytes| {
                assert_eq!((file.name.as_str(), file.digest), ("a", Sha256::of("one")));
                found.extend_from_slice(bytes);
                Ok::<(), RenderError>(())
            })?;
            Ok(found)
        });
        (result.map_err(|error| error.to_string()), calls.into_inner())
    }

    #[test]
    fn files_beyond_the_limit_are_rendered_again() {
        assert_eq!(read(3, |_| Some("one")), (Ok(b"one".to_vec()), 1));
        assert_eq!(read(2, |_| Some("one")), (Ok(b"one".to_vec()), 2));
    }

    #[test]
    fn a_file_that_cannot_be_rendered_again_is_an_error() {
        assert_eq!(read(2, |_| None), (Err("no more".to_owned()), 1));
        assert_eq!(read(2, |call| (call == 0).then_some("one")), (Err("no more".to_owned()), 2));
        let other = read(2, |call| Some(if call == 0 { "one" } else { "three" }));
        assert_eq!(other, (Err("files are rendered differently again".to_owned()), 2));
    }
}
