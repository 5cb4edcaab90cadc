//! Mutual exclusion of publishers to one bucket: a lease object, which expires if its holder dies.
//!
//! The lease is written with conditional requests, which AWS and R2 support. With a store that ignores conditions,
//! publishers read back what they have written: this detects two of them at once, except for a short window at the
//! start. A warning says so.

use std::time::Duration;

use acp_registry_plan::text::printable;
use object_store::{Error as StoreError, PutMode, UpdateVersion};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::bucket::Store;
use super::headers::Headers;
use super::{DAY, Error, LeaseTimes, Notice, UploadEvent, now, seconds};

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
    /// Until when this run holds it, unless it is renewed.
    until: Instant,
    /// The time in what this run has written last, or tried to.
    renewed: i64,
    version: Option<String>,
    is_conditional: bool,
}

impl<'a> Lease<'a> {
    /// Waits until this run holds the lease.
    pub(super) async fn take(store: &'a Store, turns: LeaseTimes, notice: Notice<'_>) -> Result<Self, Error> {
        let token = format!("{:016x}{:016x}", fastrand::u64(..), fastrand::u64(..));
        let lasts = turns.lease.max(Duration::from_secs(1));
        let began = Instant::now();
        let mut lease = Self { store, token, lasts, until: began, renewed: 0, version: None, is_conditional: true };
        // The other publisher's lease, and when this run first saw it so.
        let mut seen = (None, began);
        loop {
            lease.until = Instant::now() + lasts;
            match lease.write(PutMode::Create).await {
                Ok(()) => {
                    if lease.settle(notice).await? {
                        return Ok(lease);
                    }
                }
                Err(StoreError::AlreadyExists { .. } | StoreError::Precondition { .. }) => {}
                Err(error) => return Err(store.fail(LEASE, &error)),
            }
            let found = store.get_with_version(LEASE, LEASE_LIMIT).await?;
            let words: Option<LeaseContent> = found.as_ref().and_then(|(bytes, _)| serde_json::from_slice(bytes).ok());
            // If the response to a successful write is lost, the retry finds this run's own lease.
            if words.as_ref().is_some_and(|words| words.token == lease.token) && lease.settle(notice).await? {
                return Ok(lease);
            }
            if seen.0 != found {
                seen = (found, Instant::now());
            }
            let (found, since) = (seen.0.as_ref(), seen.1);
            let lasts = words.as_ref().map_or(seconds(turns.lease), |words| words.lasts.clamp(1, DAY));
            // Clocks differ, so a lease has expired if it was not renewed while this run watched, or if it is older than any
            // difference of clocks.
            let is_ancient = words.as_ref().is_some_and(|words| words.renewed.saturating_add(lasts + DAY) < now());
            if let Some((_, version)) = found.filter(|_| is_ancient || seconds(since.elapsed()) >= lasts) {
                lease.until = Instant::now() + lease.lasts;
                match lease.write(update(version.as_deref())).await {
                    Ok(()) if lease.settle(notice).await? => return Ok(lease),
                    Ok(()) | Err(StoreError::AlreadyExists { .. } | StoreError::Precondition { .. }) => {}
                    Err(error) => return Err(store.fail(LEASE, &error)),
                }
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

    async fn write(&mut self, mode: PutMode) -> Result<(), StoreError> {
        self.renewed = now();
        let words = LeaseContent {
            token: self.token.clone(),
            process: format!("process {}", std::process::id()),
            renewed: self.renewed,
            lasts: seconds(self.lasts),
        };
        let bytes = serde_json::to_vec(&words).unwrap_or_default();
        let written = self.store.put_as(LEASE, bytes, &Headers::OWN, "", mode).await?;
        self.version = written.e_tag;
        Ok(())
    }

    /// Verifies that this run holds the lease, and tests whether the store honours conditional requests.
    async fn settle(&mut self, notice: Notice<'_>) -> Result<bool, Error> {
        match self.write(PutMode::Create).await {
            Err(StoreError::AlreadyExists { .. } | StoreError::Precondition { .. }) => {}
            Err(error) => return Err(self.store.fail(LEASE, &error)),
            Ok(()) => {
                self.is_conditional = false;
                notice(UploadEvent::Warning(format!(
                    "{} ignores conditional requests: make sure that only one publisher runs at a time",
                    self.store.shown("")
                )));
            }
        }
        Ok(self.own().await?.is_some())
    }

    /// What the lease says, if it is this run's.
    async fn own(&mut self) -> Result<Option<LeaseContent>, Error> {
        let Some((bytes, version)) = self.store.get_with_version(LEASE, LEASE_LIMIT).await? else { return Ok(None) };
        let words: Option<LeaseContent> = serde_json::from_slice(&bytes).ok();
        let own = words.filter(|words| words.token == self.token);
        if own.is_some() {
            self.version = version;
        }
        Ok(own)
    }

    /// Runs `work` while renewing the lease, then releases it. If the lease is lost, `work` is dropped.
    pub(super) async fn during<T>(mut self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let done = tokio::select! {
            // In this order, so that a run that the system has stopped for a while does not go on without its lease.
            biased;
            error = self.keep() => return Err(error),
            done = work => done,
        };
        let lost = Err(Error::Lost(self.store.shown("")));
        match self.own().await {
            // A failure is ignored: other publishers then wait until the lease expires.
            Ok(Some(_)) => drop(self.store.remove(LEASE).await),
            Ok(None) => return done.and(lost),
            Err(_) if Instant::now() >= self.until => return done.and(lost),
            Err(_) => {}
        }
        done
    }

    /// Renews the lease until that fails, and returns the error.
    async fn keep(&mut self) -> Error {
        loop {
            tokio::time::sleep(self.lasts / 3).await;
            let began = Instant::now();
            // Once it has expired, also while a request hangs, another publisher may hold it.
            let until = self.until;
            let renewed =
                if began < until { tokio::time::timeout_at(until, self.renew()).await } else { Ok(Some(false)) };
            match renewed {
                Ok(Some(true)) => self.until = began + self.lasts,
                // The network may recover before the lease expires.
                Ok(None) => {}
                Ok(Some(false)) | Err(_) => return Error::Lost(self.store.shown("")),
            }
        }
    }

    /// Whether the lease was renewed, or is lost; `None` if that is not known.
    async fn renew(&mut self) -> Option<bool> {
        let tag = self.version.clone().filter(|_| self.is_conditional);
        let mode = if tag.is_some() {
            update(tag.as_deref())
        } else if self.own().await.ok()?.is_some() {
            PutMode::Overwrite
        } else {
            return Some(false);
        };
        match self.write(mode).await {
            Ok(()) => Some(true),
            Err(StoreError::Precondition { .. } | StoreError::AlreadyExists { .. }) => {
                let Some(own) = self.own().await.ok()? else { return Some(false) };
                // The retry fails if the response to a successful first attempt was lost.
                if own.renewed == self.renewed {
                    return Some(true);
                }
                // A gateway may change tags, so that no condition holds.
                self.is_conditional &= self.version != tag;
                None
            }
            Err(_) => None,
        }
    }
}

/// Replaces what has this tag. A gateway may have marked the tag as weak, and no condition holds for such a one.
fn update(tag: Option<&str>) -> PutMode {
    let tag = tag.map(|tag| tag.strip_prefix("W/").unwrap_or(tag).to_owned());
    PutMode::Update(UpdateVersion { e_tag: tag, version: None })
}
