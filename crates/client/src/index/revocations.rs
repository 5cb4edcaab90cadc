//! Learns which versions a registry has recalled, and remembers it; see [`acp_registry_plan::revocations`].

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::beside::{Beside, Need};
use super::load::Error;
use super::place::{IndexLocation, IndexReader};
use super::trust::{StatementProof, TrustError};
use acp_registry_host::fs::{PathError, make_private, read_bounded, write_durable};
use acp_registry_plan::digest::Sha256;
use acp_registry_plan::entries::{DISCOVERY, WrongForm, revoked_digest};
use acp_registry_plan::revocations::{REVOKED, REVOKED_LIMIT, Revocations};

/// How many digits of an address's digest are in the name of what is remembered of it.
const STEM: usize = 32;

/// Where this machine remembers which versions registries have recalled: not in a cache, which may be emptied at any time.
#[derive(Debug, Clone)]
pub struct RevocationMemory(PathBuf);

/// The recalled versions of a registry.
#[derive(Debug, Clone, Default)]
pub struct KnownRevocations {
    /// The versions; none where the registry recalls none.
    pub revocations: Revocations,
    /// Why it is not known which versions the registry recalls now.
    pub warning: Option<String>,
}

impl IndexLocation {
    /// Where the registry of an index publishes its list: an address without secrets, or a path, as receipts keep it. Indexes
    /// beside each other share it.
    #[must_use]
    pub fn revocations(&self) -> Option<String> {
        self.beside(REVOKED)
    }
}

impl RevocationMemory {
    /// The memory in this directory, which is created when there is something to remember.
    #[must_use]
    pub fn at(directory: &Path) -> Self {
        Self(directory.to_owned())
    }

    fn file(&self, place: &str) -> PathBuf {
        self.0.join(format!("{}.json", Sha256::of(place).first(STEM)))
    }

    /// The bytes that are remembered; `None` if there are none.
    fn read(&self, place: &str) -> Result<Option<Vec<u8>>, String> {
        let file = self.file(place);
        if file.symlink_metadata().is_err() {
            return Ok(None);
        }
        // A link is not followed out of the directory.
        let root = self.0.canonicalize().map_err(|error| format!("{}: {error}", self.0.display()))?;
        read_bounded(&file, &root, REVOKED_LIMIT).map(Some).map_err(|error| format!("{} {error}", file.display()))
    }

    /// What is remembered of a registry, by the place of its list. Nothing is sent.
    #[must_use]
    pub fn recall(&self, place: &str) -> KnownRevocations {
        let read = self.read(place).and_then(|bytes| {
            let parse = |bytes: Vec<u8>| {
                Revocations::parse(&bytes).map_err(|error| format!("{} {error}", self.file(place).display()))
            };
            bytes.map(parse).transpose()
        });
        match read {
            Ok(revocations) => KnownRevocations { revocations: revocations.unwrap_or_default(), warning: None },
            Err(problem) => KnownRevocations {
                revocations: Revocations::default(),
                warning: Some(format!(
                    "it is not known which versions were recalled, until `acp-registry update` has asked again: {problem}"
                )),
            },
        }
    }

    /// Remembers this text, or nothing.
    fn remember(&self, place: &str, text: Option<&str>) -> Result<(), PathError> {
        let file = self.file(place);
        match text {
            None if file.symlink_metadata().is_err() => Ok(()),
            None => fs::remove_file(&file).map_err(PathError::at(&file)),
            Some(text) if matches!(self.read(place), Ok(Some(known)) if known == text.as_bytes()) => Ok(()),
            Some(text) => {
                make_private(&self.0).map_err(PathError::at(&self.0))?;
                write_durable(&file, text.as_bytes())
            }
        }
    }
}

impl IndexReader<'_> {
    /// Learns which versions the registry of an index has recalled, and remembers them. A discovery document that was just read
    /// tells whether there is a list, and which. The list of a registry that signs must be the one that is signed.
    ///
    /// # Errors
    /// [`Error::Trust`].
    pub async fn learn_revocations(&self, memory: &RevocationMemory) -> Result<KnownRevocations, Error> {
        let Self { place, options, .. } = self;
        let Some(own) = place.revocations() else { return Ok(KnownRevocations::default()) };
        let proof = self.learn_proof(Need::Copies).await?;
        let signed = proof.as_ref().map(|proof| proof.statement.digests.get(REVOKED).copied());
        let published = match signed.map(Ok).or_else(|| self.read_discovery()) {
            Some(Ok(None)) => Beside::Nothing,
            Some(Ok(Some(digest)))
                if let Ok(Some(known)) = memory.read(&own)
                    && Sha256::of(&known) == digest =>
            {
                return Ok(memory.recall(&own));
            }
            _ => {
                let is_odd = AtomicBool::new(false);
                let parse = |text: &[u8]| {
                    let revocations = Revocations::parse(text).inspect_err(|_| is_odd.store(true, Ordering::Relaxed));
                    let revocations = revocations.map_err(|error| error.to_string())?;
                    let text = str::from_utf8(text).map_err(|error| error.to_string())?;
                    Ok((revocations, text.to_owned()))
                };
                let loaded = self.load_beside((REVOKED, REVOKED_LIMIT), options.refresh, parse).await;
                let is_signed = |proof: &StatementProof| match &loaded {
                    Beside::Known((_, text)) => proof.has(REVOKED, Sha256::of(text)),
                    // A host that hides the list may hide a recall.
                    Beside::Nothing | Beside::Unknown(..) => options.is_offline,
                };
                match proof.as_ref().filter(|proof| !is_signed(proof)) {
                    None => loaded,
                    Some(proof) => {
                        let client = (self.client)().ok();
                        let kept = proof.load_from_snapshot(client.as_deref(), place, (REVOKED, REVOKED_LIMIT)).await;
                        let kept = kept.and_then(|text| parse(&text).ok());
                        Beside::Known(kept.ok_or_else(|| match loaded {
                            // A network that fails is no attack, but what it may hide is not assumed.
                            Beside::Unknown(_, Some(ref why)) if !is_odd.load(Ordering::Relaxed) => {
                                TrustError::Unavailable { place: place.to_string(), why: why.clone() }
                            }
                            _ => proof.refuse(own.clone()),
                        })?)
                    }
                }
            }
        };
        let unsaved = |error: PathError| {
            let remedy = error.remedy().map(|remedy| format!("; {remedy}, and run it again")).unwrap_or_default();
            format!("what was recalled is known to this run only, and others start it: {error}{remedy}")
        };
        Ok(match published {
            Beside::Known((revocations, text)) => {
                KnownRevocations { revocations, warning: memory.remember(&own, Some(&text)).err().map(unsaved) }
            }
            Beside::Nothing => {
                let had_some = matches!(memory.read(&own), Ok(Some(_)));
                let warning = memory.remember(&own, None).err().map(unsaved);
                let gone = || format!("the registry has no {REVOKED} any more: what it had recalled counts no longer");
                KnownRevocations {
                    revocations: Revocations::default(),
                    warning: warning.or_else(|| had_some.then(gone)),
                }
            }
            Beside::Unknown(_, warning) => {
                let known = memory.recall(&own);
                KnownRevocations { warning: warning.or(known.warning), ..known }
            }
        })
    }

    /// What a fresh copy of the discovery document beside an index says about the list, see [`revoked_digest`].
    fn read_discovery(&self) -> Option<Result<Option<Sha256>, WrongForm>> {
        let Self { place: IndexLocation::Url(url), options, .. } = self else { return None };
        let (copies, discovery) = (options.copies.as_ref()?, url.join(DISCOVERY).ok()?);
        let copy = copies.find(&discovery).filter(|copy| copy.head.is_fresh() && !options.is_offline)?;
        Some(revoked_digest(copy.text.as_bytes()))
    }
}
