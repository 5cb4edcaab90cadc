//! What a registry publishes of its agents beside the index: which agents have which values of the catalog's filters.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;

use super::beside::{Beside, load_beside};
use super::options::LoadOptions;
use super::place::IndexLocation;
use acp_registry_http::{Client, Problem};
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
        let parse = |text: &[u8]| serde_json::from_slice(text).map_err(|error| error.to_string());
        match load_beside(place, (FACETS, INDEX_LIMIT), options, client, parse).await {
            Beside::Known(facts) | Beside::Unknown(Some(facts), _) => Some(facts),
            Beside::Nothing | Beside::Unknown(None, _) => None,
        }
    }

    /// Whether an agent has a value of a filter.
    #[must_use]
    pub fn has(&self, id: &str, filter: &str, value: &str) -> bool {
        self.facets.get(filter).and_then(|values| values.get(value)).is_some_and(|ids| ids.contains(id))
    }
}
