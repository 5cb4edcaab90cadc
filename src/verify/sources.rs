//! Package sources that cannot be reached: each fails one agent, not every agent for as long as its package manager retries.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::install::{Kind, Source};

/// What is known of the package sources in one run. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Sources(Arc<Mutex<BTreeMap<Kind, String>>>);

impl Sources {
    /// Why the source of this kind of distribution is not asked again, as a sentence; `None` while it is not known to be down.
    pub(super) fn why_down(&self, source: &Source) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&source.kind()).cloned()
    }

    /// Remembers the failure of a source.
    pub(super) fn mark_down(&self, source: &Source, id: &str, message: &str) {
        let shown = crate::text::quote(id);
        let sentence = format!("not tried: the package source could not be reached for {shown}: {message}");
        let mut down = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        down.entry(source.kind()).or_insert(sentence);
    }
}
