//! Mutual exclusion of publishers to one bucket: a lease object, which expires if its holder dies.
//!
//! The lease is written with conditional requests, which AWS and R2 support. With a store that ignores conditions,
//! publishers read back what they have written: this detects two of them at once, except for a short window at the
//! start. A warning says so.

use std::time::Duration;

use acp_registry_plan::text::printable;
use object_store::{Error as StoreError, PutMode, PutResult, UpdateVersion};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::bucket::Store;
use super::headers::Headers;
use super::{Error, LeaseTimes, Notice, UploadEvent, now, seconds};

const LEASE: &str = ".acp-registry/lease.json";

/// The largest lease that is read, in bytes.
const LEASE_LIMIT: u64 = 1 << 16;

/// Interval between two attempts to take a lease that another publisher holds.
const INTERVAL: Duration = Duration::from_secs(1);

/// The content of a lease.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct LeaseContent {
    /// Random, different for each run.
    token: String,
    process: String,
    /// When the lease was last renewed, in seconds since 1970.
    renewed: i64,
    /// How long the lease is valid after that, in seconds.
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
    /// Waits until this run holds the lease.
    pub(super) async fn take(store: &'a Store, turns: LeaseTimes, notice: Notice<'_>) -> Result<Self, Error> {
        let token = format!("{:016x}{:016x}", fastrand::u64(..), fastrand::u64(..));
        let mut lease =
            Self { store, token, lasts: turns.lease.max(Duration::from_secs(1)), version: None, is_conditional: true };
        let began = Instant::now();
        // The version of the other publisher's lease, and when this run first saw it.
        let mut seen: Option<(Option<String>, Instant)> = None;
        loop {
            match lease.write(PutMode::Create).await {
                Ok(_) => {
                    if lease.settle(notice).await? {
                        return Ok(lease);
                    }
                }
                Err(StoreError::AlreadyExists { .. } | StoreError::Precondition { .. }) => {}
                Err(error) => return Err(store.fail(LEASE, &error)),
            }
            let Some((bytes, version)) = store.get_with_version(LEASE, LEASE_LIMIT).await? else { continue };
            let words: Option<LeaseContent> = serde_json::from_slice(&bytes).ok();
            // If the response to a successful write is lost, the retry finds this run's own lease.
            if words.as_ref().is_some_and(|words| words.token == lease.token) && lease.settle(notice).await? {
                return Ok(lease);
            }
            let since = match &seen {
                Some((known, since)) if *known == version => *since,
                _ => Instant::now(),
            };
            seen = Some((version.clone(), since));
            let lasts = words.as_ref().map_or(seconds(turns.lease), |words| words.lasts.clamp(1, 86_400));
            // Expired by the clocks of both machines (with a margin, as they may differ), or not renewed while this
            // run watched.
            let is_old = words.as_ref().is_some_and(|words| words.renewed.saturating_add(2 * lasts) < now());
            if is_old || seconds(since.elapsed()) >= lasts {
                let mode = PutMode::Update(UpdateVersion { e_tag: version, version: None });
                match lease.write(mode).await {
                    Ok(_) if lease.settle(notice).await? => return Ok(lease),
                    Ok(_) | Err(StoreError::AlreadyExists { .. } | StoreError::Precondition { .. }) => {}
                    Err(error) => return Err(store.fail(LEASE, &error)),
                }
                continue;
            }
            let holder = words.map_or_else(|| "unknown".to_owned(), |words| words.process);
            let holder: String = printable(&holder).chars().take(100).collect();
            if began.elapsed() >= turns.wait {
                return Err(Error::Busy { place: store.shown(""), holder });
            }
            if since.elapsed() < INTERVAL {
                notice(UploadEvent::Waiting(holder));
            }
            tokio::time::sleep(INTERVAL.min(turns.wait.saturating_sub(began.elapsed()))).await;
        }
    }

    async fn write(&mut self, mode: PutMode) -> Result<PutResult, StoreError> {
        let words = LeaseContent {
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

    /// Verifies that this run holds the lease, and tests whether the store honours conditional requests.
    async fn settle(&mut self, notice: Notice<'_>) -> Result<bool, Error> {
        match self.write(PutMode::Create).await {
            Err(StoreError::AlreadyExists { .. } | StoreError::Precondition { .. }) => {}
            Err(error) => return Err(self.store.fail(LEASE, &error)),
            Ok(_) => {
                self.is_conditional = false;
                notice(UploadEvent::Warning(format!(
                    "{} ignores conditional requests: make sure that only one publisher runs at a time",
                    self.store.shown("")
                )));
            }
        }
        self.is_mine().await
    }

    async fn is_mine(&mut self) -> Result<bool, Error> {
        let Some((bytes, version)) = self.store.get_with_version(LEASE, LEASE_LIMIT).await? else { return Ok(false) };
        let is_mine = serde_json::from_slice::<LeaseContent>(&bytes).is_ok_and(|words| words.token == self.token);
        if is_mine {
            self.version = version;
        }
        Ok(is_mine)
    }

    /// Runs `work` while renewing the lease, then releases it. If the lease is lost, `work` is dropped.
    pub(super) async fn during<T>(mut self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let done = tokio::select! {
            done = work => done,
            error = self.keep() => return Err(error),
        };
        // A failure is ignored: other publishers then wait until the lease expires.
        if self.is_mine().await.unwrap_or_default() {
            let _ = self.store.remove(LEASE).await;
        }
        done
    }

    /// Renews the lease until that fails, and returns the error.
    async fn keep(&mut self) -> Error {
        let mut until = Instant::now() + self.lasts;
        loop {
            tokio::time::sleep(self.lasts / 3).await;
            if Instant::now() >= until {
                // The lease has expired; another publisher may hold it by now.
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
                // The retry fails if the response to a successful first attempt was lost.
                Err(StoreError::Precondition { .. } | StoreError::AlreadyExists { .. }) => match self.is_mine().await {
                    Ok(true) => until = began + self.lasts,
                    Ok(false) => return Error::Lost(self.store.shown("")),
                    Err(_) => {}
                },
                // The network may recover before the lease expires.
                Err(_) => {}
            }
        }
    }
}
