//! Loads the versions that a registry has recalled; see [`acp_registry_plan::revocations`].

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::beside::{Beside, load_beside};
use super::load::LoadOptions;
use super::place::IndexLocation;
use acp_registry_host::fs::{make_private, read_bounded, write_atomic_from};
use acp_registry_http::{Client, Problem};
use acp_registry_plan::digest::Sha256;
use acp_registry_plan::entries::{DISCOVERY, revoked_digest};
use acp_registry_plan::revocations::{REVOKED, REVOKED_LIMIT, Revocations};

/// How many digits of an address's digest are in the name of what is remembered of it.
const STEM: usize = 32;

/// Where this machine remembers which versions registries have recalled: not in a cache, which may be emptied at any time.
#[derive(Debug, Clone)]
pub struct RecallMemory(PathBuf);

/// The recalled versions of an index.
#[derive(Debug, Default)]
pub struct Recalled {
    /// The versions; none where the registry recalls none.
    pub revocations: Revocations,
    /// Why it is not known which versions the registry recalls now.
    pub warning: Option<String>,
}

impl RecallMemory {
    /// The memory in this directory, which is created when there is something to remember.
    #[must_use]
    pub fn at(directory: &Path) -> Self {
        Self(directory.to_owned())
    }

    fn file(&self, place: &IndexLocation) -> Option<PathBuf> {
        let IndexLocation::Url(url) = place else { return None };
        Some(self.0.join(format!("{}.json", Sha256::of(url.as_str()).first(STEM))))
    }

    /// What is remembered of an index. A directory is read itself.
    #[must_use]
    pub fn recall(&self, place: &IndexLocation) -> Revocations {
        let file = match place {
            IndexLocation::Path(path) if path.is_dir() => Some(path.join(REVOKED)),
            IndexLocation::Path(path) => path.parent().map(|folder| folder.join(REVOKED)),
            place => self.file(place),
        };
        let read = || {
            let file = file?.canonicalize().ok()?;
            Revocations::parse(&read_bounded(&file, &file, REVOKED_LIMIT).ok()?).ok()
        };
        read().unwrap_or_default()
    }

    /// What is remembered of an index, if its bytes have this digest.
    fn with_digest(&self, place: &IndexLocation, digest: Sha256) -> Option<Revocations> {
        let file = self.file(place)?.canonicalize().ok()?;
        let text = read_bounded(&file, &file, REVOKED_LIMIT).ok()?;
        (Sha256::of(&text) == digest).then(|| Revocations::parse(&text).ok()).flatten()
    }

    /// Remembers this text, or nothing. What cannot be written is learnt again by the next run.
    fn remember(&self, place: &IndexLocation, text: Option<&str>) {
        let Some(file) = self.file(place) else { return };
        let written = match text {
            None => fs::remove_file(&file)
                .or_else(|error| if file.exists() { Err(error) } else { Ok(()) })
                .map_err(|error| error.to_string()),
            Some(text) if fs::read_to_string(&file).is_ok_and(|known| known == text) => Ok(()),
            Some(text) => make_private(&self.0)
                .map_err(|error| error.to_string())
                .and_then(|()| write_atomic_from(&self.0, &file, text.as_bytes()).map_err(|error| error.to_string())),
        };
        written.unwrap_or_else(|error| tracing::warn!("the recalled versions are not remembered: {error}"));
    }
}

/// Learns which versions the registry of an index has recalled, and remembers them. `client` is called only if a request is
/// needed: a discovery document that was just read tells whether there is a list, and which.
pub async fn learn_recalled(
    place: &IndexLocation,
    memory: &RecallMemory,
    options: &LoadOptions,
    client: impl FnOnce() -> Result<Arc<Client>, Problem>,
) -> Recalled {
    let parse = |text: &[u8]| {
        let revocations = Revocations::parse(text).map_err(|error| error.to_string())?;
        Ok((revocations, String::from_utf8_lossy(text).into_owned()))
    };
    let told = told(place, options);
    if told == Some(None) {
        memory.remember(place, None);
        return Recalled::default();
    }
    if let Some(Some(digest)) = told
        && let Some(revocations) = memory.with_digest(place, digest)
    {
        return Recalled { revocations, warning: None };
    }
    match load_beside(place, (REVOKED, REVOKED_LIMIT), options, client, parse).await {
        Beside::Known((revocations, text)) => {
            memory.remember(place, Some(&text));
            Recalled { revocations, warning: None }
        }
        Beside::Nothing => {
            memory.remember(place, None);
            Recalled::default()
        }
        Beside::Unknown(_, warning) => Recalled { revocations: memory.recall(place), warning },
    }
}

/// What a fresh copy of the discovery document beside an index says about the list, see [`revoked_digest`].
fn told(place: &IndexLocation, options: &LoadOptions) -> Option<Option<Sha256>> {
    let IndexLocation::Url(url) = place else { return None };
    let (copies, discovery) = (options.copies.as_ref()?, url.join(DISCOVERY).ok()?);
    let copy = copies.find(&discovery).filter(|copy| copy.is_fresh() && !options.is_offline)?;
    revoked_digest(copy.text.as_bytes())
}
