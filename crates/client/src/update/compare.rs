use crate::install::Kind;
use crate::resolve::{Error, Host, Offer, Plan, PlanOptions, resolve};
use crate::store::StoredAgent;
use acp_registry_plan::manifest::{Platform, Version};

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
