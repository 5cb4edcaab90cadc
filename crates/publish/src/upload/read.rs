//! Reads objects of a bucket.

use futures_util::TryStreamExt as _;
use object_store::{Attribute, Attributes, GetOptions, GetResult, ObjectStore as _};

use super::bucket::{FORM, Store};
use super::headers::Headers;
use super::refusal::code;
use super::{Error, encoding};

/// What a store says about an object.
struct ObjectHead {
    /// The `ETag`, which identifies the version.
    tag: Option<String>,
    attributes: Attributes,
}

impl Store {
    /// Reads the content of an object, of at most `limit` bytes; `None` if it does not exist.
    pub(super) async fn get(&self, name: &str, limit: u64) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.get_with_version(name, limit).await?.map(|(bytes, _)| bytes))
    }

    /// Reads the content of an object, with its `ETag`.
    pub(super) async fn get_with_version(
        &self,
        name: &str,
        limit: u64,
    ) -> Result<Option<(Vec<u8>, Option<String>)>, Error> {
        let Some((bytes, found)) = self.get_as_stored(name, limit).await? else { return Ok(None) };
        let encoding = found.attributes.get(&Attribute::ContentEncoding).map(AsRef::as_ref);
        let content = encoding::decode(bytes, encoding, limit);
        let bytes = content.ok_or_else(|| self.unusable(name, format!("is damaged, or larger than {limit} bytes")))?;
        Ok(Some((bytes, found.tag)))
    }

    fn unusable(&self, name: &str, message: String) -> Error {
        Error::Store { place: self.shown(name), message, remedy: Some("remove it there".into()) }
    }

    /// Reads an object without decoding it.
    async fn get_as_stored(&self, name: &str, limit: u64) -> Result<Option<(Vec<u8>, ObjectHead)>, Error> {
        let Some(found) = self.find(name, false).await? else { return Ok(None) };
        let too_large = || self.unusable(name, format!("is larger than {limit} bytes"));
        if found.meta.size > limit {
            return Err(too_large());
        }
        let about = ObjectHead { tag: found.meta.e_tag.clone(), attributes: found.attributes.clone() };
        let mut pieces = found.into_stream();
        let mut bytes = Vec::new();
        while let Some(piece) = pieces.try_next().await.map_err(|error| self.fail(name, &error))? {
            if (bytes.len() + piece.len()) as u64 > limit {
                return Err(too_large());
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(Some((bytes, about)))
    }

    /// Asks for an object, or only for its headers; `None` if it does not exist.
    pub(super) async fn find(&self, name: &str, head: bool) -> Result<Option<GetResult>, Error> {
        let options = GetOptions { head, ..GetOptions::default() };
        match self.client().get_opts(&self.path(name), options).await {
            Ok(found) => Ok(Some(found)),
            Err(error @ object_store::Error::NotFound { .. }) if code(&error).as_deref() != Some("NoSuchBucket") => {
                Ok(None)
            }
            Err(error) => Err(self.fail(name, &error)),
        }
    }

    /// Whether the object exists in this form: its recorded fingerprint is equal or, for an object of another tool,
    /// its bytes and headers are.
    pub(super) async fn holds(&self, name: &str, bytes: &[u8], headers: &Headers, form: &str) -> Result<bool, Error> {
        let Some(found) = self.find(name, true).await? else { return Ok(false) };
        let said = |attribute: &Attribute| found.attributes.get(attribute).map(AsRef::as_ref);
        if let Some(known) = said(&FORM) {
            return Ok(known == form);
        }
        let is_alike = found.meta.size == bytes.len() as u64
            && said(&Attribute::ContentType) == Some(headers.content_type)
            && said(&Attribute::CacheControl) == Some(headers.cache_control)
            && said(&Attribute::ContentEncoding) == headers.content_encoding;
        if !is_alike {
            return Ok(false);
        }
        Ok(self.get_as_stored(name, found.meta.size).await?.is_some_and(|(found, _)| found == bytes))
    }
}
