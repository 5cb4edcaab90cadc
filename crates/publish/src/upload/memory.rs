//! A target in memory, which fails from a chosen change on. A run that is stopped while it reads leaves what one leaves
//! that is stopped at its next change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use super::Error;

/// A target in memory: its files, and how many more changes succeed.
#[derive(Debug)]
#[allow(unreachable_pub, reason = "a variant of a public type has it")]
pub struct Memory(Mutex<(BTreeMap<String, Vec<u8>>, usize)>);

impl Memory {
    pub fn new() -> Self {
        Self(Mutex::new((BTreeMap::new(), usize::MAX)))
    }

    fn change(&self, work: impl FnOnce(&mut BTreeMap<String, Vec<u8>>)) -> Result<(), Error> {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (files, left) = &mut *inner;
        if *left == 0 {
            return Err(Error::Store { place: String::new(), message: "stopped".to_owned(), remedy: None });
        }
        *left -= 1;
        work(files);
        Ok(())
    }

    fn look<T>(&self, work: impl FnOnce(&BTreeMap<String, Vec<u8>>) -> T) -> T {
        work(&self.0.lock().unwrap_or_else(PoisonError::into_inner).0)
    }

    /// Lets this many changes succeed.
    pub fn allow(&self, changes: usize) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1 = changes;
    }

    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        self.look(Clone::clone)
    }

    pub fn set(&self, files: BTreeMap<String, Vec<u8>>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0 = files;
    }

    pub(super) fn put(&self, name: &str, bytes: Vec<u8>) -> Result<(), Error> {
        self.change(|files| drop(files.insert(name.to_owned(), bytes)))
    }

    pub(super) fn get(&self, name: &str) -> Option<Vec<u8>> {
        self.look(|files| files.get(name).cloned())
    }

    pub(super) fn remove(&self, name: &str) -> Result<(), Error> {
        self.change(|files| drop(files.remove(name)))
    }

    pub(super) fn list(&self, folder: &str) -> Vec<String> {
        let below = format!("{folder}/");
        self.look(|files| files.keys().filter_map(|name| Some(name.strip_prefix(&below)?.to_owned())).collect())
    }

    pub(super) fn folders(&self) -> Vec<String> {
        let first = |name: &String| Some(name.split_once('/')?.0.to_owned());
        self.look(|files| files.keys().filter_map(first).collect::<BTreeSet<_>>()).into_iter().collect()
    }
}
