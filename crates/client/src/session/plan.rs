//! Plans the installation of a named agent.

use super::{AgentSpec, Error, Session};
use crate::index::{Index, Missing};
use crate::install::Kind;
use crate::resolve::{Host, Offer, Plan, PlanOptions, pick, resolve};
use crate::store::{StoredAgent, Version};
use acp_registry_plan::manifest::AgentId;

impl Session {
    /// Chooses the version, the kind of distribution and the platform. An agent that is installed keeps its kind, unless one
    /// is named.
    ///
    /// # Errors
    /// [`Error`] when the index has no such agent or version, or this machine cannot run it.
    pub fn plan(&self, named: &AgentSpec, kind: Option<Kind>, index: &Index) -> Result<Plan, Error> {
        let (offers, wanted, host) = (self.offers(named, index)?, self.plan_options(named, kind, index)?, self.host());
        if kind.is_none()
            && let Ok(Some(agent)) = self.store.agent(&named.id)
            && let Some(plan) = as_installed(&agent, &offers, &wanted, &host)
        {
            return Ok(plan);
        }
        Ok(resolve(&offers, &wanted, &host)?)
    }

    /// The plan that installs a version again unchanged, without regard to the index.
    ///
    /// # Errors
    /// [`Error::Resolve`] when this machine cannot run it any more.
    pub fn plan_again(&self, version: &Version) -> Result<Plan, Error> {
        let (receipt, offer) = (&version.receipt, version.offer());
        let version = Some(receipt.version.clone());
        let mut wanted = PlanOptions { version, kind: Some(receipt.source.kind()), ..self.wanted(receipt.id.clone()) };
        let host = self.host();
        wanted.platform = wanted.platform.or(receipt.foreign_platform(&host));
        Ok(resolve(&[offer], &wanted, &host)?)
    }

    /// The offer of the version that is named.
    ///
    /// # Errors
    /// [`Error`] when the index has no such agent, or there is no such version.
    pub fn offer(&self, named: &AgentSpec, index: &Index) -> Result<Offer, Error> {
        Ok(pick(&self.offers(named, index)?, &self.plan_options(named, None, index)?)?)
    }

    /// The offers for an agent: those of the index and, where a version is named, those that it had earlier, as far as
    /// [`Session::learn_versions`] was asked, and the installed ones.
    ///
    /// # Errors
    /// [`Error`] when the index has no such agent.
    pub fn offers(&self, named: &AgentSpec, index: &Index) -> Result<Vec<Offer>, Error> {
        let agent = index.agent(&named.id)?.ok_or_else(|| Missing::of(&named.id, index))?;
        let mut offers = Offer::from_agent(&agent, index.sha256());
        if named.version.is_some() {
            let earlier = self.known_versions(&named.id);
            offers.extend(earlier.iter().flat_map(|versions| Offer::from_earlier(versions, index.sha256())));
            offers.extend(self.store.versions(&named.id)?.iter().map(Version::offer));
        }
        Ok(offers)
    }

    /// What is asked for when nothing but an agent is named.
    #[must_use]
    pub fn wanted(&self, id: AgentId) -> PlanOptions {
        PlanOptions { platform: self.options.platform, ..PlanOptions::new(id) }
    }

    fn plan_options(&self, named: &AgentSpec, kind: Option<Kind>, index: &Index) -> Result<PlanOptions, Error> {
        let id = named.id.parse().map_err(|_| Missing::of(&named.id, index))?;
        Ok(PlanOptions { version: named.version.clone(), kind, ..self.wanted(id) })
    }
}

/// The plan for an agent whose current version is offered, by the kind of distribution that is installed; `None` for
/// another version, and where that kind is no longer offered. The kind of an installed version never changes by itself.
fn as_installed(agent: &StoredAgent, offers: &[Offer], wanted: &PlanOptions, host: &Host) -> Option<Plan> {
    let receipt = &agent.current.receipt;
    let wanted = PlanOptions { kind: Some(receipt.source.kind()), ..wanted.clone() };
    resolve(offers, &wanted, host).ok().filter(|plan| plan.version == receipt.version)
}
