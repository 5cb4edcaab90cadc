//! Who signs which registry: compares what is read with the signed statement beside an index, see
//! [`acp_registry_plan::statement`].
//!
//! At first use of a registry with a statement, its signer is remembered, and the number of the statement. Afterwards, the
//! registry must have a statement by that signer, or by a key that an earlier statement names, with no smaller number.
//! Indexes say whether their registry signs, so that nothing more is asked of the hosts of others; these are read as they
//! are.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::minisign::{PublicKey, Signatures};
use acp_registry_host::fs::{PathError, make_private, read_bounded, write_durable};
use acp_registry_host::lock::{Acquisition, Lock};
use acp_registry_plan::digest::Sha256;
use acp_registry_plan::failure::{Code, Failure};
use acp_registry_plan::statement::{STATEMENT, STATEMENT_SIGNATURE, Signed, Statement};
use acp_registry_plan::timestamp::Timestamp;

/// How long a statement is used after it has expired, with a warning: a registry whose publisher stands still for a day
/// can still be used.
const GRACE: Duration = Duration::from_hours(24);

/// How many digits of an address's digest are in the name of what is remembered of it.
const STEM: usize = 32;

/// The largest memory of a registry, in bytes.
const MEMORY_LIMIT: u64 = 1 << 16;

/// Where this machine remembers who signs which registry: not in a cache, which may be emptied at any time.
#[derive(Debug, Clone)]
pub struct Trust {
    directory: PathBuf,
    /// The key that must have signed the registry's statement, or an earlier one; any key at first use if it is `None`.
    pub(super) signer: Option<PublicKey>,
}

/// What a registry has signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementProof {
    /// The statement.
    pub statement: Statement,
    /// The key that has signed it.
    pub signer: PublicKey,
    /// Why it may be refused soon, or is not remembered.
    pub warning: Option<String>,
}

/// Why what a registry publishes is not trusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrustError {
    /// There is no statement, or it has no signature.
    #[error("{place} is not signed: there is no {missing}, and {reason}")]
    Unsigned {
        /// The index.
        place: String,
        /// The file that is missing.
        missing: &'static str,
        /// Why it should be there.
        reason: String,
    },
    /// The signature is not one of a trusted key, or the statement is of another registry.
    #[error("the statement of {place} is not trusted: {why}")]
    Signature {
        /// The index.
        place: String,
        /// What is wrong.
        why: String,
    },
    /// The statement is not valid any more.
    #[error("the statement of {place} was valid until {expires_at}, and there is no newer one")]
    Expired {
        /// The index.
        place: String,
        /// Until when.
        expires_at: Timestamp,
    },
    /// This machine has seen a newer statement.
    #[error("the statement of {place} is older than what this machine has seen of the registry: {why}")]
    Older {
        /// The index.
        place: String,
        /// The numbers.
        why: String,
    },
    /// A file is not the one that the statement names.
    #[error("{file} is not what statement {sequence} of the registry names")]
    Digest {
        /// The address or path of the file.
        file: String,
        /// The number of the statement.
        sequence: u64,
    },
    /// What was remembered of the registry cannot be read.
    #[error("who signs {place} is not known any more: {why}")]
    Memory {
        /// The index.
        place: String,
        /// The file, and why it cannot be read.
        why: String,
    },
    /// The statement, or what it names, cannot be read now.
    #[error("the registry {place} is signed, and {why}")]
    Unavailable {
        /// The index.
        place: String,
        /// Why not.
        why: String,
    },
}

impl TrustError {
    /// What to do about it.
    pub(super) fn remedy(&self) -> &'static str {
        match self {
            Self::Unsigned { .. } => {
                "ask the maintainers of the registry: a host or a proxy may have changed what you read"
            }
            Self::Signature { .. } => {
                "run it again later: a host or a proxy may have changed it; or name with --signer the key that the maintainers of the \
                 registry tell you by another way than the registry"
            }
            Self::Expired { .. } => {
                "look at the clock of this machine; if it is right, ask the maintainers of the registry to publish again"
            }
            Self::Older { .. } => "run it again later; if that does not help, ask the maintainers of the registry",
            Self::Digest { .. } => {
                "run it again in some minutes, the registry may be publishing; if that does not help, ask its maintainers"
            }
            Self::Memory { .. } => {
                "ask the maintainers of the registry which key signs it, remove the file, and name the key with --signer"
            }
            Self::Unavailable { .. } => "run it again later",
        }
    }
}

impl From<&TrustError> for Failure {
    fn from(error: &TrustError) -> Self {
        let code = match error {
            TrustError::Unsigned { .. } => Code::Unsigned,
            TrustError::Signature { .. } | TrustError::Memory { .. } => Code::SignatureInvalid,
            TrustError::Expired { .. } => Code::StatementExpired,
            TrustError::Older { .. } => Code::StatementOlder,
            TrustError::Digest { .. } => Code::DigestMismatch,
            TrustError::Unavailable { .. } => {
                return Self::unable(error).code(Code::IndexUnavailable).help(error.remedy());
            }
        };
        Self::refused(error).code(code).help(error.remedy())
    }
}

/// What is remembered of a registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Memory {
    schema: u32,
    registry: String,
    /// The number of the newest statement.
    pub(super) sequence: u64,
    /// The digest of that statement.
    statement: Sha256,
    /// The key that has signed it.
    signer: String,
    /// The keys that may sign the next one.
    pub(super) keys: Vec<String>,
    /// The key that a person has named, or the first that was seen: all others follow from it.
    first: String,
}

impl Memory {
    fn keys(&self) -> impl Iterator<Item = PublicKey> {
        self.keys.iter().filter_map(|key| key.parse().ok())
    }
}

impl Trust {
    /// The memory in this directory, which is created when there is something to remember.
    #[must_use]
    pub fn at(directory: &Path, signer: Option<PublicKey>) -> Self {
        Self { directory: directory.to_owned(), signer }
    }

    fn file(&self, place: &str) -> PathBuf {
        self.directory.join(format!("{}.json", Sha256::of(place).first(STEM)))
    }

    /// What is remembered of a registry, by the place of its statement.
    pub(super) fn read(&self, place: &str) -> Result<Option<Memory>, String> {
        let file = self.file(place);
        if file.symlink_metadata().is_err() {
            return Ok(None);
        }
        let describe = |why: &dyn std::fmt::Display| format!("{}: {why}", file.display());
        // A link is not followed out of the directory.
        let root = self.directory.canonicalize().map_err(|error| describe(&error))?;
        let bytes = read_bounded(&file, &root, MEMORY_LIMIT).map_err(|error| describe(&error))?;
        let memory: Memory = serde_json::from_slice(&bytes).map_err(|error| describe(&error))?;
        if memory.schema == 1 { Ok(Some(memory)) } else { Err(describe(&"it is of a newer acp-registry")) }
    }

    /// Remembers a statement, unless a newer one is remembered by now.
    pub(super) fn remember(&self, place: &str, new: &Memory, starts_anew: bool) -> Result<(), PathError> {
        let file = self.file(place);
        make_private(&self.directory).map_err(PathError::at(&self.directory))?;
        let lock = self.directory.join("lock");
        // Who has the lock remembers a statement now; this one is remembered by the next run.
        let Acquisition::Mine(_lock) = Lock::ask(&lock, "acp-registry")? else { return Ok(()) };
        let is_older = |known: &Memory| !starts_anew && known.sequence >= new.sequence;
        if matches!(self.read(place), Ok(Some(known)) if known == *new || is_older(&known)) {
            return Ok(());
        }
        // An empty file after a power failure would make an honest registry refused.
        write_durable(&file, &serde_json::to_vec(new).unwrap_or_default())
    }
}

impl StatementProof {
    /// Whether the statement names a file with this digest.
    #[must_use]
    pub fn has(&self, file: &str, digest: Sha256) -> bool {
        self.statement.digests.get(file) == Some(&digest)
    }

    /// Like [`StatementProof::has`], with a digest as text.
    pub(super) fn names(&self, file: &str, digest: &str) -> bool {
        digest.parse().is_ok_and(|digest| self.has(file, digest))
    }

    /// The error if a file is not the one that is named.
    pub(super) fn refuse(&self, file: String) -> TrustError {
        TrustError::Digest { file, sequence: self.statement.sequence }
    }
}

impl From<&StatementProof> for Signed {
    fn from(StatementProof { statement, signer, .. }: &StatementProof) -> Self {
        Self { signer: signer.to_string(), sequence: statement.sequence, expires_at: statement.expires_at }
    }
}

/// Judges a statement and its signature by what is remembered of a registry. Returns what is remembered from now on.
pub(super) fn judge(
    place: &str,
    (text, signature): (&[u8], &str),
    signer: Option<PublicKey>,
    memory: Option<&Memory>,
    is_offline: bool,
) -> Result<(StatementProof, Memory), TrustError> {
    let wrong = |why: String| TrustError::Signature { place: place.to_owned(), why };
    let statement = Statement::parse(text).map_err(|error| wrong(error.to_string()))?;
    let signatures =
        Signatures::parse(signature).ok_or_else(|| wrong(format!("{STATEMENT_SIGNATURE} has no signature")))?;
    let next: Vec<PublicKey> = statement.next_keys.iter().filter_map(|key| key.parse().ok()).collect();
    let named = signer;
    // A person who names another key than before begins anew, whatever earlier keys have said of it.
    let memory = memory.filter(|memory| named.is_none_or(|named| memory.first == named.to_string()));
    let digest = Sha256::of(text);
    let trusted: Vec<PublicKey> = match (memory, named) {
        // The one that is remembered need not name the key that has signed it.
        (Some(memory), _) if memory.statement == digest => memory.signer.parse().into_iter().collect(),
        (Some(memory), _) => memory.keys().collect(),
        (None, Some(named)) => vec![named],
        (None, None) => next.clone(),
    };
    let signer = trusted.iter().find(|key| key.verifies(text, &signatures)).ok_or_else(|| {
        let keys: Vec<String> = trusted.iter().map(ToString::to_string).collect();
        wrong(format!("{STATEMENT_SIGNATURE} is not a signature of {STATEMENT} by {}", keys.join(" or ")))
    })?;
    if let Some(memory) = memory {
        if memory.registry != statement.registry {
            return Err(wrong(format!("it is of {}, not of {}", statement.registry, memory.registry)));
        }
        let (ours, theirs) = (memory.sequence, statement.sequence);
        let older = |why| TrustError::Older { place: place.to_owned(), why };
        if theirs < ours {
            return Err(older(format!("it has number {theirs}, after number {ours}")));
        }
        if theirs == ours && memory.statement != digest {
            return Err(older(format!("there was another one with number {ours}")));
        }
    }
    let late = Timestamp::now().unix() - statement.expires_at.unix();
    let mut warning = None;
    if late >= 0 {
        let expires_at = statement.expires_at;
        if late >= i64::try_from(GRACE.as_secs()).unwrap_or_default() && !is_offline {
            return Err(TrustError::Expired { place: place.to_owned(), expires_at });
        }
        warning = Some(format!(
            "what {place} has signed was valid until {expires_at} and was not renewed; a day after that, the registry is refused"
        ));
    }
    let mut keys: Vec<String> = next.iter().map(ToString::to_string).collect();
    if keys.is_empty() {
        keys.push(signer.to_string());
    }
    let first = memory.map_or_else(|| named.unwrap_or(*signer).to_string(), |memory| memory.first.clone());
    let registry = statement.registry.clone();
    let new = Memory {
        schema: 1,
        registry,
        sequence: statement.sequence,
        statement: digest,
        signer: signer.to_string(),
        keys,
        first,
    };
    Ok((StatementProof { statement, signer: *signer, warning }, new))
}
