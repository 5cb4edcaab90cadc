//! When a version was published.

use std::time::SystemTime;

use url::Url;

use crate::install::Source;
use crate::resolve::Plan;
use acp_registry_http::Client;
use acp_registry_plan::manifest::{NpmSpec, Pin, PypiSpec};
use acp_registry_sources::Sources;

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
