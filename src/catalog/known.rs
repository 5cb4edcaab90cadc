//! A text, or what an earlier run has found in it.

use std::sync::OnceLock;

use sha2::{Digest, Sha256};

use super::load::{Error, Options};
use super::summary::LARGE;
use super::text::{Text, TextError};
use super::{Catalog, Copies, FormError};
use crate::hex;

/// What is known of a text before it is read.
pub(super) struct Known<'a> {
    pub(super) place: &'a str,
    /// What tells it from all other texts that may be in that place.
    pub(super) of: Option<String>,
    pub(super) sha256: OnceLock<String>,
}

/// Why a text is no catalog.
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
    pub(super) fn read(self, text: Text, options: &Options) -> Result<Catalog, Unread> {
        let of = self.of.filter(|_| text.length() >= LARGE);
        let kept = options.copies.as_ref().zip(of);
        if let Some((copies, of)) = kept.as_ref().filter(|_| !options.refresh)
            && let Some(summary) = copies.summary(self.place, of)
        {
            return Ok(Catalog::of_summary(text, summary));
        }
        let bytes = text.whole().map_err(Unread::Text)?.into_owned();
        if self.sha256.get().is_some_and(|sha256| *sha256 != hex(&Sha256::digest(&bytes))) {
            return Err(Unread::Text(text.changed()));
        }
        let catalog = Catalog::of_bytes(bytes, self.sha256).map_err(Unread::Form)?;
        if let Some((copies, of)) = kept {
            keep(copies, self.place, of, &catalog);
        }
        Ok(catalog)
    }
}

/// Keeps a summary for the next run, which reads the index itself if that fails.
pub(super) fn keep(copies: &Copies, place: &str, of: String, catalog: &Catalog) {
    let kept = catalog.summary(of).map(|summary| copies.keep_summary(place, &summary));
    match kept {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!("no summary of a large index is kept: {error}"),
        Err(error) => tracing::debug!("no summary of a large index is made: {error}"),
    }
}
