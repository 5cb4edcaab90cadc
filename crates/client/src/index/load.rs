//! Loads the index of a place.

use acp_registry_plan::failure::{Code, Failure};
use std::ffi::OsStr;
use std::io::Cursor;
use std::path::Path;
use std::time::{Duration, SystemTime};

use url::Url;

use super::beside::Need;
use super::copies::{Copy, describe_copy};
use super::place::{IndexLocation, IndexReader, WrongPlace};
use super::trust::{StatementProof, TrustError};
use crate::registry::{ClosureProblem, LoadError, Registry, is_registry};
use acp_registry_archive::{self as archive, Lookalike};
use acp_registry_host::fs::{ReadError, read_bounded};
use acp_registry_http::{Client, FetchError, Problem, Validators, shown};
use acp_registry_plan::closure::{Closures, file_name};
use acp_registry_plan::index::{FormError, INDEX, INDEX_LIMIT, Index, IndexSource};
use acp_registry_plan::statement::{Signed, is_marked};
use acp_registry_plan::text::escape;

/// An index, with a warning if it may be old.
#[derive(Debug)]
pub struct Loaded {
    /// The index.
    pub index: Index,
    /// Whether it has all agents, not only those that were asked for.
    pub is_whole: bool,
    /// Why this may not be what its host has now.
    pub warning: Option<String>,
    /// What to do about that, if known.
    pub help: Option<String>,
}

/// The folder of a project in which its registry usually is.
const REGISTRY: &str = "registry";

/// What to do where a place has no usable index.
fn another() -> String {
    "name another index with --index".to_owned()
}

/// Why an index cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is named by neither an address nor a path.
    #[error(transparent)]
    Place(#[from] WrongPlace),
    /// The file cannot be read.
    #[error("the registry index {place}: {error}")]
    Read {
        /// Where it should be.
        place: String,
        /// Why not.
        error: ReadError,
    },
    /// The registry checkout cannot be read.
    #[error(transparent)]
    Checkout(#[from] LoadError),
    /// It is not an index.
    #[error("{place} {error}")]
    Form {
        /// Where it is.
        place: String,
        /// What is wrong.
        error: FormError,
    },
    /// It was not fetched, and there is no copy.
    #[error("the registry index was not fetched, and there is no copy of an earlier one: {0}")]
    Fetch(#[from] FetchError),
    /// The registry publishes which packages an agent needs, and may do so for this one, but that is not known.
    #[error("{what} of {id} {why}")]
    Packages {
        /// What is not known.
        what: String,
        /// The agent.
        id: String,
        /// Why not: a verb and a cause.
        why: String,
    },
    /// The list of packages beside the manifest of a checkout cannot be used.
    #[error("{id}/{file} cannot be used: {problem}")]
    Closure {
        /// The agent.
        id: String,
        /// The file.
        file: &'static str,
        /// Why not.
        problem: ClosureProblem,
    },
    /// Requests are forbidden, and there is no copy.
    #[error("there is no copy of {0} from an earlier run")]
    Offline(String),
    /// The host has answered 304, and there is no copy.
    #[error("{0} sent 304 (not modified) to an unconditional request")]
    Unasked(String),
    /// The HTTP client cannot be made.
    #[error(transparent)]
    Client(Problem),
    /// The registry is signed, and this is not what it has signed.
    #[error(transparent)]
    Trust(#[from] TrustError),
}

impl Error {
    /// What to do about it, where that is known.
    #[must_use]
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Form { place, .. } if Path::new(place).join(REGISTRY).is_dir() => {
                let within = Path::new(place).join(REGISTRY).display().to_string();
                Some(format!("did you mean `--index {}`?", escape(&within)))
            }
            Self::Read { .. } | Self::Checkout(_) | Self::Form { .. } | Self::Unasked(_) => Some(another()),
            Self::Fetch(error) if error.problem.is_answer() => Some(another()),
            Self::Fetch(error) => {
                let is_of_host =
                    matches!(error.problem, Problem::NoSuchHost | Problem::NoResolver(_) | Problem::Connection(_));
                error.remedy().map(|remedy| if is_of_host { format!("{remedy}; or {}", another()) } else { remedy })
            }
            Self::Place(_) => Some("name the address or the path of an index with --index".to_owned()),
            Self::Packages { .. } => Some(
                "run it again in some minutes; if that does not help, ask the maintainers of the registry".to_owned(),
            ),
            Self::Closure { id, .. } => {
                Some(format!("remove it, and make it again with `acp-registry verify {} --closures`", escape(id)))
            }
            Self::Offline(_) => Some("leave out --offline once".to_owned()),
            Self::Client(problem) => problem.remedy(),
            Self::Trust(error) => Some(error.remedy().to_owned()),
        }
    }
}

impl IndexReader<'_> {
    /// Reads the index.
    ///
    /// A fresh copy is used without a request. An older one is used when the host cannot be reached or its answer is not an
    /// index; the result then has a warning. The index of a registry that signs must be the one that is signed.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn load(&self) -> Result<Loaded, Error> {
        let Self { place, options, .. } = self;
        let has_copy = matches!(place, IndexLocation::Url(url) if options.has_fresh_copy(url));
        let need = if has_copy { Need::Copies } else { Need::Newest };
        let proof = self.learn_proof(need).await?;
        let again = match self.load_proven(proof.as_ref()).await {
            // The registry may have published since its statement was read.
            Err(Error::Trust(TrustError::Digest { .. })) if !options.is_offline => Need::Newest,
            Ok(loaded) if proof.is_none() && is_marked(loaded.index.text()) && options.trust.is_some() => {
                Need::Announced
            }
            loaded => return loaded,
        };
        let proof = self.learn_proof(again).await?;
        self.load_proven(proof.as_ref()).await
    }

    /// Like [`Self::load`], with what the registry has signed.
    async fn load_proven(&self, proof: Option<&StatementProof>) -> Result<Loaded, Error> {
        let Self { place, options, .. } = self;
        let origin = |fetched_at, is_stale| {
            let signed = proof.map(Signed::from);
            IndexSource { source: place.to_string(), fetched_at: Some(fetched_at), is_stale, signed }
        };
        let loaded = |index: Index, (warning, help): (Option<String>, Option<String>)| {
            let warning = warning.or_else(|| proof?.warning.clone());
            Ok(Loaded { index, is_whole: true, warning, help })
        };
        let whole = (None, None);
        let url = match place {
            IndexLocation::Path(path) => {
                let mut index = from_path(path, proof).await?;
                let changed = std::fs::metadata(path).and_then(|metadata| metadata.modified());
                index.origin = origin(changed.unwrap_or_else(|_| SystemTime::now()), false);
                return loaded(index, whole);
            }
            IndexLocation::Unusable(wrong) => return Err(wrong.clone().into()),
            IndexLocation::Url(url) => url,
        };
        let from_copy = |copy: Copy, checked: SystemTime, warning: (Option<String>, Option<String>)| {
            let is_stale = warning.0.is_some() || (options.is_offline && !copy.head.is_fresh());
            let form = |error| Error::Form { place: place.to_string(), error };
            let mut index = Index::with_digest(copy.text, copy.head.sha256).map_err(form)?;
            index.origin = origin(checked, is_stale);
            loaded(index, warning)
        };
        let copy = options.copies.as_ref().and_then(|copies| copies.find(url));
        let had_copy = copy.is_some();
        let mut copy = copy.filter(|copy| proof.is_none_or(|proof| proof.names(view(url), &copy.head.sha256)));
        if options.is_offline {
            return match (copy, proof) {
                (Some(copy), _) => {
                    let checked = copy.head.checked;
                    from_copy(copy, checked, whole)
                }
                (None, Some(proof)) if had_copy => Err(proof.refuse(shown(url)).into()),
                (None, _) => Err(Error::Offline(shown(url))),
            };
        }
        if let Some(fresh) = copy.take_if(|copy| copy.head.is_fresh() && !options.refresh) {
            let checked = fresh.head.checked;
            match from_copy(fresh, checked, whole.clone()) {
                Ok(loaded) => return Ok(loaded),
                Err(error) => tracing::debug!("the copy is not used: {error}"),
            }
        }
        let client = (self.client)().map_err(Error::Client)?;
        match self.fetch(&client, url, copy.as_ref(), proof).await {
            Ok(Some(mut index)) => {
                index.origin = origin(SystemTime::now(), false);
                loaded(index, whole)
            }
            Ok(None) => match copy {
                Some(copy) => from_copy(copy, SystemTime::now(), whole),
                None => Err(Error::Unasked(shown(url))),
            },
            Err(error) => match copy {
                Some(copy) => {
                    let (checked, help) = (copy.head.checked, error.remedy());
                    let why = match error {
                        Error::Fetch(error) => error.to_string(),
                        error => error.to_string(),
                    };
                    from_copy(copy, checked, (Some(staleness(checked, &why)), help))
                }
                None => Err(error),
            },
        }
    }

    /// Asks the host; `None` when it confirms the copy. If the host is just replacing the index that is signed, that index is
    /// read from its snapshot.
    async fn fetch(
        &self,
        client: &Client,
        url: &Url,
        copy: Option<&Copy>,
        proof: Option<&StatementProof>,
    ) -> Result<Option<Index>, Error> {
        let copies = self.options.copies.as_ref();
        let answer = client.revalidate(url, INDEX_LIMIT, copy.map(|copy| &copy.head.validators)).await?;
        let Some(body) = answer.body else {
            if let Some(copies) = copies {
                copies.confirm(url);
            }
            return Ok(None);
        };
        // Only a readable index is kept.
        let mut index = parse_bytes(body, &shown(url))?;
        let (mut validators, mut max_age) = (answer.validators, answer.max_age);
        if let Some(proof) = proof.filter(|proof| !proof.names(view(url), index.sha256())) {
            let place = IndexLocation::Url(url.clone());
            let body = proof.load_from_snapshot(Some(client), &place, (view(url), INDEX_LIMIT)).await;
            index = parse_bytes(body.ok_or_else(|| proof.refuse(shown(url)))?, &shown(url))?;
            (validators, max_age) = (Validators::default(), Some(Duration::ZERO));
        }
        if let Some(copies) = copies
            && let Err(error) = copies.keep(url, (index.text(), index.sha256()), validators, max_age)
        {
            tracing::debug!("no copy of {} is kept: {error}", shown(url));
        }
        Ok(Some(index))
    }
}

/// The file name of an index.
fn view(url: &Url) -> &str {
    url.path_segments().and_then(Iterator::last).unwrap_or_default()
}

fn parse_bytes(bytes: Vec<u8>, place: &str) -> Result<Index, Error> {
    // Networks that want a sign-in answer in place of the host, with a page.
    let page =
        archive::lookalike(Cursor::new(&bytes)).filter(|found| ![Lookalike::Json, Lookalike::Text].contains(found));
    let text = String::from_utf8(bytes).map_err(|error| FormError::of(&error));
    text.and_then(Index::parse).map_err(|error| {
        let error = page.map_or(error, |page| FormError::of(&format!("it is {page}")));
        Error::Form { place: place.to_owned(), error }
    })
}

/// The closures of an agent beside its manifest, where the index is a checkout that has some. Which install scripts are approved
/// is not known.
///
/// # Errors
/// [`Error::Closure`] if one cannot be used: other packages, and scripts that are not approved, are not taken instead.
pub fn closures_in_checkout(place: &IndexLocation, id: &str) -> Result<Option<Closures>, Error> {
    let IndexLocation::Path(path) = place else { return Ok(None) };
    if !path.is_dir() || path.join(INDEX).is_file() {
        return Ok(None);
    }
    let registry = Registry::load(path)?;
    let entry = registry.entries.iter().find(|entry| entry.id == id);
    let Some(manifest) = entry.and_then(|entry| entry.manifest.present()) else { return Ok(None) };
    let mut closures = Closures::new(id);
    for (kind, closure) in registry.closures(id, manifest) {
        let unusable = |problem| Error::Closure { id: id.to_owned(), file: file_name(kind), problem };
        closures.insert(kind, closure.map_err(unusable)?);
    }
    Ok((closures.npx.is_some() || closures.uvx.is_some()).then_some(closures))
}

async fn from_path(path: &Path, proof: Option<&StatementProof>) -> Result<Index, Error> {
    let published = path.join(INDEX);
    let file = if !path.is_dir() {
        path
    } else if published.is_file() {
        &published
    } else {
        return from_checkout(path);
    };
    let place = path.display().to_string();
    let read = || {
        let real = file.canonicalize()?;
        read_bounded(&real, &real, INDEX_LIMIT)
    };
    let name = file.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let bytes = read().map_err(|error| Error::Read { place: place.clone(), error })?;
    // The digest of a large index takes longer than its text: it is made once.
    let index = parse_bytes(bytes, &place)?;
    let Some(proof) = proof.filter(|proof| !proof.names(name, index.sha256())) else { return Ok(index) };
    let kept = proof.load_from_snapshot(None, &IndexLocation::Path(file.to_owned()), (name, INDEX_LIMIT)).await;
    parse_bytes(kept.ok_or_else(|| proof.refuse(place.clone()))?, &place)
}

/// Reads the manifests of a registry as the index that would be built from them.
fn from_checkout(path: &Path) -> Result<Index, Error> {
    let registry = Registry::load(path)?;
    let mut manifests = Vec::new();
    let mut notes = Vec::new();
    for entry in &registry.entries {
        match entry.manifest.present() {
            Some(manifest) => manifests.push(manifest.value().to_string()),
            None => notes.push(format!(
                "{} is passed over: its agent.json cannot be read; `acp-registry validate` says why",
                entry.id
            )),
        }
    }
    let text = format!("{{\"agents\":[{}]}}", manifests.join(","));
    let form = |error| Error::Form { place: path.display().to_string(), error };
    let mut index = Index::parse(text).map_err(form)?;
    if index.entries().next().is_none() && notes.is_empty() && !is_registry(path) {
        return Err(form(FormError::empty()));
    }
    notes.append(&mut index.notes);
    index.notes = notes;
    Ok(index)
}

/// Why an index is used that its host may have changed, in a sentence.
pub(super) fn staleness(checked: SystemTime, why: &dyn std::fmt::Display) -> String {
    format!("the registry index is {}: {why}", describe_copy(checked))
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let help = error.remedy();
        let failure = match &error {
            Error::Trust(error) => return error.into(),
            Error::Place(_) => Self::usage(error),
            Error::Form { .. } => Self::unable(error).code(Code::InvalidIndex),
            Error::Offline(_) => Self::unable(error).code(Code::Offline),
            _ => Self::unable(error).code(Code::IndexUnavailable),
        };
        failure.help_if(help)
    }
}
