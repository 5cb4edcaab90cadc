//! Turns of publishers to one bucket: an object that one of them holds, and that runs out when it dies.
//!
//! It is written under conditions, which AWS and R2 keep. Where a store does not, two publishers at once are still
//! noticed when they read what they have written, but for a moment at the beginning; a warning says so.

use std::time::Duration;

use object_store::{Error as StoreError, PutMode, PutResult, UpdateVersion};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::form::Headers;
use super::store::{Store, store_error};
use super::{Error, Event, Notice, Turns, now, seconds};
use acp_registry_core::text::printable;

const LEASE: &str = ".acp-registry/lease.json";

/// The largest lease that is read, in bytes.
const LEASE_LIMIT: u64 = 1 << 16;

/// How often another one's lease is looked at.
const INTERVAL: Duration = Duration::from_secs(1);

/// What a holder says of itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Words {
    /// Different for each run.
    token: String,
    process: String,
    /// When it was renewed last, in seconds since 1970.
    renewed: i64,
    /// For how long it lasts from then on, in seconds.
    lasts: i64,
}

/// A lease that this run holds.
#[derive(Debug)]
pub(super) struct Lease<'a> {
    store: &'a Store,
    token: String,
    lasts: Duration,
    version: Option<String>,
    is_conditional: bool,
}

impl<'a> Lease<'a> {
    /// Waits for the lease.
    pub(super) async fn take(store: &'a Store, turns: Turns, notice: Notice<'_>) -> Result<Self, Error> {
        let token = format!("{:016x}{:016x}", fastrand::u64(..), fastrand::u64(..));
        let mut lease =
            Self { store, token, lasts: turns.lease.max(Duration::from_secs(1)), version: None, is_conditional: true };
        let began = Instant::now();
        // The version that is there, and since when.
        let mut seen: Option<(Option<String>, Instant)> = None;
        loop {
            match lease.write(PutMode::Create).await {
                Ok(_) => {
                    if lease.settle(notice).await? {
                        return Ok(lease);
                    }
                }
                Err(StoreError::AlreadyExists { .. } | StoreError::Precondition { .. }) => {}
                Err(error) => return Err(lease.fail(&error)),
            }
            let Some((bytes, version)) = store.get_with_version(LEASE, LEASE_LIMIT).await? else { continue };
            let words: Option<Words> = serde_json::from_slice(&bytes).ok();
            // The answer to an attempt that succeeded may be lost, and the next attempt then finds its own lease.
            if words.as_ref().is_some_and(|words| words.token == lease.token) && lease.settle(notice).await? {
                return Ok(lease);
            }
            let since = match &seen {
                Some((known, since)) if *known == version => *since,
                _ => Instant::now(),
            };
            seen = Some((version.clone(), since));
            let lasts = words.as_ref().map_or(seconds(turns.lease), |words| words.lasts.clamp(1, 86_400));
            // By the clocks of both, which may differ; or because it was not renewed while this one watched.
            let is_old = words.as_ref().is_some_and(|words| words.renewed.saturating_add(2 * lasts) < now());
            if is_old || seconds(since.elapsed()) >= lasts {
                let mode = PutMode::Update(UpdateVersion { e_tag: version, version: None });
                match lease.write(mode).await {
                    Ok(_) if lease.settle(notice).await? => return Ok(lease),
                    Ok(_) | Err(StoreError::AlreadyExists { .. } | StoreError::Precondition { .. }) => {}
                    Err(error) => return Err(lease.fail(&error)),
                }
                continue;
            }
            let holder = words.map_or_else(|| "unknown".to_owned(), |words| words.process);
            let holder: String = printable(&holder).chars().take(100).collect();
            if began.elapsed() >= turns.wait {
                return Err(Error::Busy { place: store.shown(""), holder });
            }
            if since.elapsed() < INTERVAL {
                notice(Event::Waiting(holder));
            }
            tokio::time::sleep(INTERVAL.min(turns.wait.saturating_sub(began.elapsed()))).await;
        }
    }

    async fn write(&mut self, mode: PutMode) -> Result<PutResult, StoreError> {
        let words = Words {
            token: self.token.clone(),
            process: format!("process {}", std::process::id()),
            renewed: now(),
            lasts: seconds(self.lasts),
        };
        let bytes = serde_json::to_vec(&words).unwrap_or_default();
        let written = self.store.put_as(LEASE, bytes, &Headers::OWN, "", mode).await?;
        self.version.clone_from(&written.e_tag);
        Ok(written)
    }

    /// Looks whether the lease is this run's after all, and whether the store keeps conditions.
    async fn settle(&mut self, notice: Notice<'_>) -> Result<bool, Error> {
        match self.write(PutMode::Create).await {
            Err(StoreError::AlreadyExists { .. } | StoreError::Precondition { .. }) => {}
            Err(error) => return Err(self.fail(&error)),
            Ok(_) => {
                self.is_conditional = false;
                notice(Event::Warning(format!(
                    "{} ignores conditional requests: make sure that only one publisher runs at a time",
                    self.store.shown("")
                )));
            }
        }
        self.is_mine().await
    }

    async fn is_mine(&mut self) -> Result<bool, Error> {
        let Some((bytes, version)) = self.store.get_with_version(LEASE, LEASE_LIMIT).await? else { return Ok(false) };
        let is_mine = serde_json::from_slice::<Words>(&bytes).is_ok_and(|words| words.token == self.token);
        if is_mine {
            self.version = version;
        }
        Ok(is_mine)
    }

    fn fail(&self, error: &StoreError) -> Error {
        store_error(self.store.shown(LEASE), error, self.store.bucket())
    }

    /// Does the work while the lease is renewed, and gives it back. Work that goes on without a lease is dropped.
    pub(super) async fn during<T>(mut self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let done = tokio::select! {
            done = work => done,
            error = self.keep() => return Err(error),
        };
        // Others would wait for nothing, but not for ever.
        if self.is_mine().await.unwrap_or_default() {
            let _ = self.store.remove(LEASE).await;
        }
        done
    }

    /// Renews the lease until that fails.
    async fn keep(&mut self) -> Error {
        let mut until = Instant::now() + self.lasts;
        loop {
            tokio::time::sleep(self.lasts / 3).await;
            if Instant::now() >= until {
                // Another publisher may have it by now.
                return Error::Lost(self.store.shown(""));
            }
            let began = Instant::now();
            let mode = match &self.version {
                Some(tag) if self.is_conditional => {
                    PutMode::Update(UpdateVersion { e_tag: Some(tag.clone()), version: None })
                }
                _ => match self.is_mine().await {
                    Ok(true) => PutMode::Overwrite,
                    Ok(false) => return Error::Lost(self.store.shown("")),
                    Err(_) => continue,
                },
            };
            match self.write(mode).await {
                Ok(_) => until = began + self.lasts,
                // This may be an echo: the answer to the first attempt was lost.
                Err(StoreError::Precondition { .. } | StoreError::AlreadyExists { .. }) => match self.is_mine().await {
                    Ok(true) => until = began + self.lasts,
                    Ok(false) => return Error::Lost(self.store.shown("")),
                    Err(_) => {}
                },
                // The network may come back before the lease is over.
                Err(_) => {}
            }
        }
    }
}
