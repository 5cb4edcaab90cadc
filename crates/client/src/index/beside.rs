//! Small files that a registry may publish beside its index.

use std::io::ErrorKind;
use std::time::Duration;

use super::copies::{Copy, describe_copy};
use super::place::{IndexLocation, IndexReader};
use acp_registry_host::fs::read_bounded;
use acp_registry_http::{Problem, Validators, shown};
use acp_registry_plan::digest::Sha256;

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
    /// Reads a file of this name and at most this size beside an index, from its host or from a copy of an earlier run, which a
    /// fresh one is not with `refresh`. An answer that `parse` refuses takes no copy's place.
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
        if let Some(copy) = copy.as_ref().filter(|copy| copy.is_fresh() && !refresh) {
            return read(copy).map_or(Beside::Nothing, Beside::Known);
        }
        let unknown = |why: &str| {
            tracing::debug!("{} could not be read: {why}", shown(&url));
            let content = copy.as_ref().and_then(read);
            let warning = match copy.as_ref().filter(|_| content.is_some()) {
                Some(copy) => format!("{name} is {}: {why}", describe_copy(copy.checked)),
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
