//! UPDATE: what is installed, compared with what is offered now.
//!
//! * [`compare()`]: whether a newer version is offered
//! * [`published`]: when that was published, for people who wait before they update

use std::time::SystemTime;

use acp_registry_http::Client;
use acp_registry_plan::manifest::{NpmSpec, Pin, Platform, PypiSpec, Version};
use acp_registry_sources::Sources;
use url::Url;

use crate::install::{Kind, Source};
use crate::resolve::{Error, Host, Offer, Plan, PlanOptions, resolve};
use crate::store::StoredAgent;

/// When what a plan names was published, as the npm registry, the Python package index, GitHub, or the archive's host says;
/// `None` when that is not known.
pub async fn published(plan: &Plan, client: &Client, sources: &Sources) -> Option<SystemTime> {
    match &plan.source {
        Source::Npx(package) => {
            let NpmSpec { name, pin: Pin::Exact(version) } = package.package.parse().ok()? else { return None };
            let packument = sources.npm.as_ref()?.packument_in_full(client, &name).await.ok()??;
            packument.published(&version).map(SystemTime::from)
        }
        Source::Uvx(package) => {
            let PypiSpec { name, pin: Pin::Exact(version), .. } = package.package.parse().ok()? else { return None };
            let project = sources.pypi.as_ref()?.project(client, &name).await.ok()??;
            project.release(&version)?.published.map(SystemTime::from)
        }
        Source::Binary(target) => {
            let url = Url::parse(&target.archive).ok()?;
            if let Some((id, _)) = sources.github.find_asset(&url)
                && let Ok(Some(release)) = sources.github.release(client, &id).await
                && let Some(time) = release.published
            {
                return Some(time.into());
            }
            client.probe(&url).await.ok()?.last_modified
        }
    }
}

/// How an installed agent compares with what is offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpdateStatus {
    /// No newer version is offered.
    UpToDate(Box<Plan>),
    /// There is a newer version.
    Newer(Box<Plan>),
    /// Another version is offered, and the two cannot be compared.
    Other(Box<Plan>),
}

/// The plan for an agent whose current version is offered, by the kind of distribution that is installed; `None` for
/// another version, and where that kind is no longer offered. The kind of an installed version never changes by itself.
#[must_use]
pub(crate) fn as_installed(agent: &StoredAgent, offers: &[Offer], wanted: &PlanOptions, host: &Host) -> Option<Plan> {
    let receipt = &agent.current.receipt;
    let wanted = PlanOptions { kind: Some(receipt.kind()?), ..wanted.clone() };
    resolve(offers, &wanted, host).ok().filter(|plan| plan.version == receipt.version)
}

/// Compares an installed agent with the offers for it. It keeps its kind of distribution as long as that is offered.
///
/// # Errors
/// [`Error`] when what is offered cannot be installed here.
pub fn compare(
    agent: &StoredAgent,
    offers: &[Offer],
    platform: Option<Platform>,
    host: &Host,
) -> Result<UpdateStatus, Error> {
    let receipt = &agent.current.receipt;
    let platform = platform.or(receipt.foreign_platform(host));
    let wanted = |kind: Option<Kind>| PlanOptions { kind, platform, ..PlanOptions::new(agent.id.clone()) };
    let plan = match resolve(offers, &wanted(receipt.kind()), host) {
        Err(Error::NoSuchKind { .. } | Error::UnsupportedPlatform { .. }) => resolve(offers, &wanted(None), host)?,
        plan => plan?,
    };
    let plan = Box::new(plan);
    if plan.version == receipt.version {
        return Ok(UpdateStatus::UpToDate(plan));
    }
    Ok(match (Version::parse(&plan.version), Version::parse(&receipt.version)) {
        (Some(offered), Some(installed)) if offered > installed => UpdateStatus::Newer(plan),
        (Some(_), Some(_)) => UpdateStatus::UpToDate(plan),
        _ => UpdateStatus::Other(plan),
    })
}
