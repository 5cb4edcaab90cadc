//! A text, or what an earlier run has found in it.

use super::load::{Error, Options};
use super::summary::LARGE;
use super::text::{Text, TextError};
use super::{Copies, FormError, Index};

/// What is known of a text before it is read.
pub(super) struct Known<'a> {
    pub(super) place: &'a str,
    /// What tells it from all other texts that may be in that place.
    pub(super) of: Option<String>,
    /// What its digest must be, where there is one.
    pub(super) sha256: Option<String>,
}

/// Why a text is not an index.
pub(super) enum Unread {
    Text(TextError),
    Form(FormError),
}

impl Unread {
    pub(super) fn of(self, place: &impl ToString) -> Error {
        match self {
            Self::Text(error) => Error::Text(error),
            Self::Form(error) => Error::Form { place: place.to_string(), error },
        }
    }
}

impl Known<'_> {
    /// Reads a text, or what an earlier run has found in it.
    pub(super) fn read(self, text: Text, options: &Options) -> Result<Index, Unread> {
        let of = self.of.filter(|_| text.length() >= LARGE);
        let kept = options.copies.as_ref().zip(of);
        if let Some((copies, of)) = kept.as_ref().filter(|_| !options.refresh)
            && let Some(summary) = copies.summary(self.place, of)
        {
            return Ok(Index::of_summary(text, summary));
        }
        let bytes = text.whole().map_err(Unread::Text)?.into_owned();
        let index = Index::of_bytes(bytes).map_err(Unread::Form)?;
        if self.sha256.is_some_and(|sha256| sha256 != index.sha256()) {
            return Err(Unread::Text(text.changed()));
        }
        if let Some((copies, of)) = kept {
            keep(copies, self.place, of, &index);
        }
        Ok(index)
    }
}

/// Keeps a summary for the next run, which reads the index itself if that fails.
pub(super) fn keep(copies: &Copies, place: &str, of: String, index: &Index) {
    if let Err(error) = copies.keep_summary(place, &index.summary(of)) {
        tracing::debug!("no summary of a large index is kept: {error}");
    }
}
