//! What a registry publishes of its agents beside the index: which agents have which values of the catalog's filters.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;

use super::copies::Copy;
use super::load::LoadOptions;
use super::place::IndexLocation;
use acp_registry_host::fs::read_bounded;
use acp_registry_http::{Client, Problem};
use acp_registry_plan::digest::Sha256;
use acp_registry_plan::index::INDEX_LIMIT;

/// The name of the file beside the index.
pub const FACETS: &str = "facets.json";

/// The values that agents have in the filters of the catalog.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Facts {
    /// By filter and value, the ids of agents.
    facets: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
}

impl Facts {
    /// Reads the facts beside an index. `None` where the registry publishes none, or where they cannot be had: searches do
    /// without them. `client` is called only if a request is needed.
    pub async fn load(
        place: &IndexLocation,
        options: &LoadOptions,
        client: impl FnOnce() -> Result<Arc<Client>, Problem>,
    ) -> Option<Self> {
        let url = match place {
            IndexLocation::Path(path) => {
                let folder = if path.is_dir() { path } else { path.parent()? };
                let file = folder.join(FACETS).canonicalize().ok()?;
                return Self::parse(&read_bounded(&file, &file, INDEX_LIMIT).ok()?);
            }
            IndexLocation::Url(url) if url.query().is_none() => url.join(FACETS).ok()?,
            IndexLocation::Url(_) | IndexLocation::Unusable(_) => return None,
        };
        let copy = options.copies.as_ref().and_then(|copies| copies.find(&url));
        if options.is_offline || (!options.refresh && copy.as_ref().is_some_and(Copy::is_fresh)) {
            return Self::parse(copy?.text.as_bytes());
        }
        let validators = copy.as_ref().map(|copy| &copy.head.validators);
        match client().ok()?.revalidate(&url, INDEX_LIMIT, validators).await {
            Ok(answer) => {
                let Some(body) = answer.body else {
                    if let Some(copies) = &options.copies {
                        copies.confirm(&url);
                    }
                    return Self::parse(copy?.text.as_bytes());
                };
                let facts = Self::parse(&body)?;
                if let (Some(copies), Ok(text)) = (&options.copies, str::from_utf8(&body)) {
                    let sha256 = Sha256::of(text).to_string();
                    let kept = copies.keep(&url, (text, &sha256), answer.validators, answer.max_age);
                    kept.unwrap_or_else(|error| tracing::debug!("no copy is kept: {error}"));
                }
                Some(facts)
            }
            Err(error) if error.problem.is_answer() && !error.problem.may_pass() => None,
            Err(error) => {
                tracing::debug!("the copy of {FACETS} is used: {error}");
                Self::parse(copy?.text.as_bytes())
            }
        }
    }

    fn parse(text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text).map_err(|error| tracing::debug!("{FACETS} cannot be used: {error}")).ok()
    }

    /// Whether an agent has a value of a filter.
    #[must_use]
    pub fn has(&self, id: &str, filter: &str, value: &str) -> bool {
        self.facets.get(filter).and_then(|values| values.get(value)).is_some_and(|ids| ids.contains(id))
    }
}
