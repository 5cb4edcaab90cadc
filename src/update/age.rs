//! Since when a version is there.

use std::time::SystemTime;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use url::Url;

use crate::install::Source;
use crate::manifest::{NpmSpec, Pin, PypiSpec};
use crate::net::Client;
use crate::resolve::Plan;
use crate::survey::Sources;

/// When what a plan names was published, as the npm registry, the Python package index, GitHub, or the archive's host says;
/// `None` when nobody says.
pub async fn published(plan: &Plan, client: &Client, sources: &Sources) -> Option<SystemTime> {
    match &plan.source {
        Source::Npx(package) => {
            let NpmSpec { name, pin: Pin::Exact(version) } = package.package.parse().ok()? else { return None };
            parse(&sources.npm.as_ref()?.published(client, &name, &version).await.ok()??)
        }
        Source::Uvx(package) => {
            let PypiSpec { name, pin: Pin::Exact(version), .. } = package.package.parse().ok()? else { return None };
            let project = sources.pypi.as_ref()?.project(client, &name).await.ok()??;
            parse(&project.release(&version)?.uploaded?)
        }
        Source::Binary(target) => {
            let url = Url::parse(&target.archive).ok()?;
            if let Some((id, _)) = sources.github.asset_of(&url)
                && let Ok(Some(release)) = sources.github.release(client, &id).await
                && let Some(time) = release.published.as_deref().and_then(parse)
            {
                return Some(time);
            }
            client.probe(&url).await.ok()?.last_modified
        }
    }
}

fn parse(text: &str) -> Option<SystemTime> {
    OffsetDateTime::parse(text, &Rfc3339).ok().map(SystemTime::from)
}
