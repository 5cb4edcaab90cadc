//! Small files that a registry may publish beside its index, and the signed statement, which tells about the others.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use super::copies::{Copy, describe_copy};
use super::place::{IndexLocation, IndexReader};
use super::trust::{StatementProof, TrustError, judge};
use acp_registry_host::fs::read_bounded;
use acp_registry_http::{Client, Problem, Validators, shown};
use acp_registry_plan::digest::Sha256;
use acp_registry_plan::statement::{
    STATEMENT, STATEMENT_LIMIT, STATEMENT_SIGNATURE, STATEMENT_SIGNATURE_LIMIT, Statement,
};
use acp_registry_plan::sums::content_path;
use url::Url;

/// What a registry publishes in a file beside its index.
#[derive(Debug)]
pub(super) enum Beside<T> {
    /// This, as its host has said lately.
    Known(T),
    /// Nothing.
    Nothing,
    /// It is not known now: there is the content of a copy, if there is a copy, and the reason.
    Unknown(Option<T>, Option<String>),
}

impl IndexReader<'_> {
    /// Reads a file of this name and at most this size beside an index, from its host or from a copy of an earlier run. With
    /// `refresh`, the host is asked even if the copy is fresh. An answer that `parse` refuses takes no copy's place.
    pub(super) async fn load_beside<T>(
        &self,
        (name, limit): (&str, u64),
        refresh: bool,
        parse: impl Fn(&[u8]) -> Result<T, String>,
    ) -> Beside<T> {
        let url = match self.place {
            IndexLocation::Path(path) => {
                let folder = if path.is_dir() { Some(path.as_path()) } else { path.parent() };
                let Some(file) = folder.map(|folder| folder.join(name)) else { return Beside::Nothing };
                // A link that leads nowhere is something else than no file.
                if file.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound) {
                    return Beside::Nothing;
                }
                let read = file.canonicalize().map_err(|error| format!("cannot be read: {error}"));
                let read = read.and_then(|file| read_bounded(&file, &file, limit).map_err(|error| error.to_string()));
                return match read.and_then(|bytes| parse(&bytes)) {
                    Ok(content) => Beside::Known(content),
                    Err(problem) => Beside::Unknown(None, Some(format!("{} {problem}", file.display()))),
                };
            }
            IndexLocation::Url(url) if url.query().is_none() => url.join(name).ok(),
            // A query is for the address of the index only.
            IndexLocation::Url(_) | IndexLocation::Unusable(_) => None,
        };
        let Some(url) = url else { return Beside::Unknown(None, None) };
        let copies = self.options.copies.as_ref();
        let copy = copies.and_then(|copies| copies.find(&url));
        // An empty copy records that there was no such file.
        let read = |copy: &Copy| if copy.text.is_empty() { None } else { parse(copy.text.as_bytes()).ok() };
        if let Some(copy) = copy.as_ref().filter(|copy| copy.head.is_fresh() && !refresh) {
            return read(copy).map_or(Beside::Nothing, Beside::Known);
        }
        let unknown = |why: &str| {
            tracing::debug!("{} could not be read: {why}", shown(&url));
            let content = copy.as_ref().and_then(read);
            let warning = match copy.as_ref().filter(|_| content.is_some()) {
                Some(copy) => format!("{name} is {}: {why}", describe_copy(copy.head.checked)),
                None => format!("{name} could not be read: {why}"),
            };
            Beside::Unknown(content, Some(warning))
        };
        if self.options.is_offline {
            return Beside::Unknown(copy.as_ref().and_then(read), None);
        }
        let client = match (self.client)() {
            Ok(client) => client,
            Err(problem) => return unknown(&problem.to_string()),
        };
        let keep = |text: &str, validators: Validators, max_age: Option<Duration>| {
            let kept =
                copies.map(|copies| copies.keep(&url, (text, &Sha256::of(text).to_string()), validators, max_age));
            kept.unwrap_or(Ok(())).unwrap_or_else(|error| tracing::debug!("no copy is kept: {error}"));
        };
        match client.revalidate(&url, limit, copy.as_ref().map(|copy| &copy.head.validators)).await {
            Ok(answer) => {
                let Some(body) = answer.body else {
                    if let Some(copies) = copies {
                        copies.confirm(&url);
                    }
                    return copy.as_ref().and_then(read).map_or(Beside::Nothing, Beside::Known);
                };
                match parse(&body) {
                    // The registry publishes something else now.
                    Err(problem) => match unknown(&problem) {
                        Beside::Unknown(_, warning) => Beside::Unknown(None, warning),
                        known => known,
                    },
                    Ok(content) => {
                        if let Ok(text) = str::from_utf8(&body) {
                            keep(text, answer.validators, answer.max_age);
                        }
                        Beside::Known(content)
                    }
                }
            }
            // The host answers that there is none.
            Err(error) if matches!(error.problem, Problem::Status(404 | 410)) => {
                keep("", Validators::default(), None);
                Beside::Nothing
            }
            // Stores that do not tell what they have answer 403 for what they lack.
            Err(error) if matches!(error.problem, Problem::Status(403)) && copy.as_ref().and_then(read).is_none() => {
                Beside::Unknown(None, None)
            }
            Err(error) => unknown(&error.to_string()),
        }
    }
}

/// Why a statement is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// Copies are used: fresh ones serve.
    Copies,
    /// The host is asked anyway, and so it is for a newer statement.
    Newest,
    /// What was just read says that the registry signs.
    Announced,
}

impl IndexReader<'_> {
    /// Learns what the registry of an index has signed. `None` where it signs nothing, and never has, as far as this machine
    /// knows. Nothing is asked of hosts of registries that do not say that they sign.
    ///
    /// # Errors
    /// [`TrustError`].
    pub(super) async fn learn_proof(&self, need: Need) -> Result<Option<StatementProof>, TrustError> {
        let Self { place, options, .. } = self;
        let Some(trust) = &options.trust else { return Ok(None) };
        // A query is for the address of the index only.
        let asks = trust.signer.is_some() || !matches!(place, IndexLocation::Url(url) if url.query().is_some());
        let Some(own) = place.beside(STATEMENT).filter(|_| asks) else { return Ok(None) };
        let index = place.to_string();
        let memory = trust.read(&own).map_err(|why| TrustError::Memory { place: index.clone(), why })?;
        let reason = match (&trust.signer, &memory) {
            (Some(signer), _) => format!("it must be signed by {signer}"),
            (None, Some(memory)) => format!("{} has signed it before", memory.keys.join(" or ")),
            (None, None) => "it says that it is signed".to_owned(),
        };
        let is_bound = trust.signer.is_some() || memory.is_some() || need == Need::Announced;
        if !is_bound && matches!(place, IndexLocation::Url(_)) {
            return Ok(None);
        }
        let unsigned = |missing| {
            let error = TrustError::Unsigned { place: index.clone(), missing, reason: reason.clone() };
            if is_bound { Err(error) } else { Ok(None) }
        };
        let keep = |text: &[u8]| Ok(text.to_vec());
        let load = async |name, limit, refresh| {
            let refresh = refresh || need == Need::Newest || options.refresh;
            match self.load_beside((name, limit), refresh, keep).await {
                Beside::Known(bytes) => Ok(Some(bytes)),
                Beside::Unknown(Some(bytes), warning) => {
                    tracing::debug!("{}", warning.unwrap_or_default());
                    Ok(Some(bytes))
                }
                Beside::Unknown(None, Some(why)) if is_bound => {
                    Err(TrustError::Unavailable { place: index.clone(), why })
                }
                Beside::Nothing | Beside::Unknown(None, _) => Ok(None),
            }
        };
        let mut refresh = false;
        loop {
            let Some(text) = load(STATEMENT, STATEMENT_LIMIT, refresh).await? else { return unsigned(STATEMENT) };
            // A file of another kind beside an index on this machine.
            if !is_bound && Statement::parse(&text).is_err() {
                return unsigned(STATEMENT);
            }
            let signature = load(STATEMENT_SIGNATURE, STATEMENT_SIGNATURE_LIMIT, refresh).await?;
            let Some(signature) = signature else { return unsigned(STATEMENT_SIGNATURE) };
            let signature = String::from_utf8_lossy(&signature);
            let judged = judge(&index, (&text, &signature), trust.signer, memory.as_ref(), options.is_offline);
            match judged {
                Ok((mut proof, new)) => {
                    let starts_anew = memory.as_ref().is_some_and(|memory| memory.sequence > new.sequence);
                    if memory.as_ref() != Some(&new)
                        && let Err(error) = trust.remember(&own, &new, starts_anew)
                    {
                        proof.warning = Some(format!("who signs {index} is not remembered: {error}"));
                    }
                    return Ok(Some(proof));
                }
                // One of the two, or both, may be the copies of an earlier publication, kept by a run beside this one.
                Err(TrustError::Signature { .. } | TrustError::Older { .. }) if !refresh && !options.is_offline => {
                    refresh = true;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

impl StatementProof {
    /// Reads a file beside an index from the snapshot, while the file itself is replaced.
    pub(super) async fn load_from_snapshot(
        &self,
        client: Option<&Client>,
        index: &IndexLocation,
        (file, limit): (&str, u64),
    ) -> Option<Vec<u8>> {
        let digest = *self.statement.digests.get(file)?;
        let kept = format!("{}/{file}", self.statement.snapshot.as_ref()?);
        match index {
            IndexLocation::Url(index) => fetch_kept(client?, index, &kept, (digest, limit)).await,
            IndexLocation::Path(path) => {
                let path = path.canonicalize().ok()?;
                let tree = if path.is_dir() { &path } else { path.parent()? };
                read_kept(tree, &kept, (digest, limit))
            }
            IndexLocation::Unusable(_) => None,
        }
    }
}

/// Reads what snapshots share by its digest, for a file that is replaced: a statement names it, or a document that one names.
pub(super) async fn fetch_content(client: &Client, index: &Url, wanted: (Sha256, u64)) -> Option<Vec<u8>> {
    fetch_kept(client, index, &content_path(&wanted.0.to_string()), wanted).await
}

/// Like [`fetch_content`], beside a tree on this machine.
pub(super) fn read_content(tree: &Path, wanted: (Sha256, u64)) -> Option<Vec<u8>> {
    read_kept(tree, &content_path(&wanted.0.to_string()), wanted)
}

/// Reads a file by its path beside the tree, if it has this digest.
async fn fetch_kept(client: &Client, index: &Url, kept: &str, (digest, limit): (Sha256, u64)) -> Option<Vec<u8>> {
    let kept = index.join(&format!("../{kept}")).ok()?;
    let body = client.revalidate(&kept, limit, None).await.ok()?.body?;
    (Sha256::of(&body) == digest).then_some(body)
}

/// Like [`fetch_kept`], on this machine.
fn read_kept(tree: &Path, kept: &str, (digest, limit): (Sha256, u64)) -> Option<Vec<u8>> {
    let root = tree.parent()?;
    let body = read_bounded(&root.join(kept), root, limit).ok()?;
    (Sha256::of(&body) == digest).then_some(body)
}
