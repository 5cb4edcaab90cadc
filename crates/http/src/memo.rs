//! What was read in the documents of one run.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::OnceCell;

use super::error::FetchError;

/// What was read in a document, or what is wrong with it; `None` when there is no such document.
pub type Understood<T> = Result<Option<Result<Arc<T>, String>>, FetchError>;

/// What was read in the documents of this run, by address, accepted media types and what was read.
#[derive(Debug, Default)]
pub(super) struct Memo(pub(super) Mutex<HashMap<(String, String, TypeId), Cell>>);

pub(super) type Cell = Arc<OnceCell<Understood<dyn Any + Send + Sync>>>;
