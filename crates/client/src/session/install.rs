//! Installs what was planned, and checks that the agent answers.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use acp_registry_host::fs::temporary;
use acp_registry_plan::closure::PublishedClosure;
use acp_registry_plan::manifest::{AgentId, PackageKind, Platform};
use acp_registry_protocol::handshake::HandshakeOptions;
use acp_registry_sources::Needs;

use super::{AgentSpec, Error, Session};
use crate::doctor;
use crate::index::{Index, Missing};
use crate::install::{DigestSource, Expected, Interpreter, Kind, Progress, Shortfall, Source};
use crate::provenance::{self, Inquiry, Memory, Require, TrustRoots, is_same_repository};
use crate::resolve::{self, Host, Offer, OfferOrigin, Plan, PlanOptions, pick, resolve};
use crate::store::{self, InstallOrder, InstallOutcome, MakeCurrent, PinChange, Store, Version};

/// How long an agent may take to answer: the first start of some is slow.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// What is to be installed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct InstallRequest {
    /// The plan.
    pub plan: Plan,
    /// Whether the agent stays at this version from now on.
    pub pin: PinChange,
    /// Whether the version becomes the current one.
    pub make_current: MakeCurrent,
    /// Whether it is installed even if it is there and seems undamaged.
    pub again: bool,
    /// What must be proven of its bytes.
    pub terms: Terms,
}

/// What must be proven of the bytes of an installation, besides what was proven of an earlier one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Terms {
    /// What must be proven.
    pub require: Require,
    /// Whether a person has agreed to another publisher than before, to a weaker proof and to none.
    pub accepts_publisher: bool,
}

impl Terms {
    /// Both of them.
    #[must_use]
    pub fn new(require: Require, accepts_publisher: bool) -> Self {
        Self { require, accepts_publisher }
    }

    /// Whether what was proven of an installed version is enough.
    #[must_use]
    pub fn are_met(self, version: &Version) -> bool {
        match self.require {
            Require::None => true,
            Require::Digest => version.receipt.proof.verified != DigestSource::None,
            Require::Attested => version.receipt.provenance.is_some(),
        }
    }
}

impl InstallRequest {
    /// Installs the plan, and makes it the current version. A pin is kept.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        Self { plan, pin: PinChange::Keep, make_current: MakeCurrent::Always, again: false, terms: Terms::default() }
    }
}

/// Reports of a running installation.
#[derive(Debug)]
#[non_exhaustive]
pub enum InstallEvent<'a> {
    /// Its progress.
    Progress(Progress),
    /// Another process changes the same agent; this is its description of itself.
    Waiting(&'a str),
}

/// Whether an agent answered `initialize`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Liveness {
    /// Whether it did.
    pub answers: bool,
    /// Why not. Printable.
    pub problem: String,
    /// How its runtime falls short of what its package asks for.
    pub shortfall: Option<Shortfall>,
}

impl Session {
    /// Installs what was planned, unless it is there already. When the future is dropped, nothing has changed, or it is done.
    ///
    /// # Errors
    /// [`Error`]; nothing has changed then.
    pub async fn install(
        &self,
        request: &InstallRequest,
        on_event: &(dyn Fn(InstallEvent<'_>) + Send + Sync),
    ) -> Result<InstallOutcome, Error> {
        let plan = &self.with_closure(request.plan.clone()).await?;
        self.refuse_revoked_plan(plan)?;
        self.refuse_lost_list(plan)?;
        let there = self.store.installed(plan)?;
        let is_proven = is_proven(there.as_ref(), plan, request.terms);
        self.refuse_fetch(plan, request.again, request.terms)?;
        Self::refuse_other_platform(plan)?;
        let mut installer = self.installer(plan.platform)?;
        if let Source::Binary(target) = &plan.source
            && target.sha256.as_ref().or(plan.expected.sha256.as_ref()).is_none()
        {
            installer.github = Some(self.github()?);
        }
        installer.allow_build |= self.options.builders.contains(plan.id.as_str());
        // A permission that was given once holds for the agent's later versions.
        installer.allow_build |= self.store.versions(&plan.id)?.iter().any(|version| version.receipt.remarks.may_build);
        installer.requires_digest = request.terms.require >= Require::Digest;
        installer.inquiry = self.inquiry(plan, request.terms)?.map(Arc::new);
        let lacks_scripts = there.is_some_and(|there| there.receipt.remarks.scripts_not_run.are_forbidden_by_npm());
        // npm may run the install scripts now that it was forbidden to run then.
        let again = request.again
            || !is_proven
            || (lacks_scripts && !self.options.is_offline && installer.runs_scripts(&temporary()).await);
        let progress = |progress| on_event(InstallEvent::Progress(progress));
        let waiting = |holder: &str| on_event(InstallEvent::Waiting(holder));
        let order = InstallOrder {
            plan,
            installer: &installer,
            pin: request.pin,
            make_current: request.make_current,
            again,
            progress: &progress,
            waiting: &waiting,
        };
        Ok(self.store.install(&order).await?)
    }

    /// The closure that the registry publishes of a package of an agent.
    pub(crate) async fn published_closure(
        &self,
        id: &AgentId,
        origin: OfferOrigin,
        kind: PackageKind,
        package: &str,
    ) -> Result<Option<PublishedClosure>, Error> {
        let closures = self.load_closures(id).await?;
        let closure = closures.as_ref().and_then(|closures| closures.find(kind, package)).cloned();
        // An index that holds an agent back has its earlier packages as well.
        if closure.is_some() || (origin != OfferOrigin::Earlier && closures.is_none()) {
            return Ok(closure);
        }
        let earlier = self.reader().load_earlier_closures(id).await?;
        Ok(earlier.as_ref().and_then(|earlier| earlier.find(kind, package)).cloned())
    }

    /// A plan with the packages that the registry publishes for it, if it does and no lock file names them.
    pub(crate) async fn with_closure(&self, mut plan: Plan) -> Result<Plan, Error> {
        let (kind, package) = match &plan.source {
            Source::Npx(package) => (PackageKind::Npx, package),
            Source::Uvx(package) => (PackageKind::Uvx, package),
            Source::Binary(_) => return Ok(plan),
        };
        if plan.origin == OfferOrigin::Lock || plan.expected.packages.is_some() {
            return Ok(plan);
        }
        if let Some(closure) = self.published_closure(&plan.id, plan.origin, kind, &package.package).await? {
            plan.expected = Expected { sha256: plan.expected.sha256, ..closure.into() };
        }
        Ok(plan)
    }

    /// Refuses a plan whose list of packages, with which an installed version was installed, is not published any more. Without a
    /// network, that is not known.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub(crate) fn refuse_lost_list(&self, plan: &Plan) -> Result<(), Error> {
        if self.options.is_offline { Ok(()) } else { Ok(self.store.refuse_lost_list(plan)?) }
    }

    /// Chooses among offers like [`resolve()`]. Where npm is missing, the registry is asked for the packages, with which it is
    /// not needed.
    ///
    /// # Errors
    /// [`Error`] when this machine cannot run what is offered.
    pub(crate) async fn resolve(&self, offers: &[Offer], wanted: &PlanOptions, host: &Host) -> Result<Plan, Error> {
        let missing = match resolve(offers, wanted, host) {
            Err(error @ resolve::Error::MissingRuntime { .. }) if !host.has_npm => error,
            plan => return Ok(plan?),
        };
        let mut offer = pick(offers, wanted)?;
        let Some(npx) = &offer.distribution.npx else { return Err(missing.into()) };
        let kind = PackageKind::Npx;
        let Some(closure) = self.published_closure(&wanted.id, offer.origin, kind, &npx.package).await? else {
            return Err(missing.into());
        };
        let expected = Expected::from(closure);
        offer.expected.push((Kind::Npx.as_str().to_owned(), expected.clone()));
        let plan = resolve(std::slice::from_ref(&offer), wanted, host)?;
        // What is there needs nothing more.
        if !self.store.installed(&plan)?.is_some_and(|there| there.is_intact()) {
            let refused = self.installer(None)?.refuse_npm(npx, &expected, &self.directory(&plan)).await;
            refused.map_err(|error| store::Error::Install { id: wanted.id.to_string(), error })?;
        }
        Ok(plan)
    }

    /// Refuses a package for another platform, since package managers install for their own.
    ///
    /// # Errors
    /// [`Error::OtherPlatform`].
    pub(crate) fn refuse_other_platform(plan: &Plan) -> Result<(), Error> {
        if plan.kind() == Kind::Binary || plan.platform == Platform::host() {
            return Ok(());
        }
        Err(Error::OtherPlatform { id: plan.id.to_string(), kind: plan.kind().as_str() })
    }

    /// Refuses an installation for which something would be fetched, where nothing may be: only an intact version counts as
    /// installed, and packages that are kept are enough for another one.
    ///
    /// # Errors
    /// [`Error::Offline`].
    pub(crate) fn refuse_fetch(&self, plan: &Plan, again: bool, terms: Terms) -> Result<(), Error> {
        if !self.options.is_offline {
            return Ok(());
        }
        let there = self.store.installed(plan)?;
        let is_intact = there.as_ref().is_some_and(Version::is_intact);
        let (problem, work) = match (is_intact, is_proven(there.as_ref(), plan, terms)) {
            (true, true) if !again => return Ok(()),
            (true, true) => ("does not answer", "repairing"),
            (true, false) => ("is installed without the proof", "asking for"),
            (false, _) if self.has_at_hand(plan, terms)? && !self.store.has_other_bytes(plan) => return Ok(()),
            (false, _) if self.store.holds(plan) => ("is damaged", "repairing"),
            (false, _) => ("is not installed", "installing"),
        };
        Err(Error::Offline { id: plan.id.to_string(), version: plan.version.clone(), problem, work })
    }

    /// Whether a plan is carried out from the packages that are kept, and nothing has to be proven of it.
    fn has_at_hand(&self, plan: &Plan, terms: Terms) -> Result<bool, Error> {
        Ok(self.inquiry(plan, terms)?.is_none()
            && self.installer(plan.platform)?.has_at_hand(&plan.source, &plan.expected, &self.directory(plan)))
    }

    /// Where the packages of a plan are, or will be.
    fn directory(&self, plan: &Plan) -> PathBuf {
        Store::files(&self.store.place(&plan.id, &plan.folder()))
    }

    /// How it is asked who has built what is planned; `None` where that was never asked for.
    fn inquiry(&self, plan: &Plan, terms: Terms) -> Result<Option<Inquiry>, Error> {
        let is_required = terms.require == Require::Attested;
        let known = self.store.known_provenance(&plan.id)?;
        if !is_required && known.is_none() {
            return Ok(None);
        }
        let file = self.options.variable(provenance::VARIABLE).filter(|path| !path.is_empty());
        Ok(Some(Inquiry {
            connection: self
                .options
                .connect_to_sources(Needs { npm: plan.kind() == Kind::Npx, pypi: plan.kind() == Kind::Uvx })?,
            roots: TrustRoots::open(file.as_deref().map(Path::new))?,
            repository: plan.repository.clone(),
            memory: Memory { known, accepts: terms.accepts_publisher },
            is_required,
        }))
    }

    /// Starts an agent that was just installed, sends `initialize`, and records whether it answers. `None` where that
    /// is known or cannot be checked: the version was there and has answered before, or is for another platform. An
    /// agent that does not answer stays installed. `waiting` is called with the process that is waited for.
    ///
    /// Takes up to [`PATIENCE`], twice as long where a failure may be chance.
    ///
    /// # Errors
    /// [`Error`] when the directory for the handshake cannot be made, or the answer cannot be recorded.
    pub async fn ask(
        &self,
        done: &mut InstallOutcome,
        waiting: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<Option<Liveness>, Error> {
        let receipt = &done.version.receipt;
        let is_new = !done.was_there || done.is_repaired || receipt.answers != Some(true);
        if !is_new || receipt.platform != Platform::host() {
            return Ok(None);
        }
        let version = &mut done.version;
        let mut options = HandshakeOptions::new(temporary());
        (options.timeout, options.probe) = (PATIENCE, None);
        let launcher = self.options.launcher.as_deref();
        let (answers, problem) = match doctor::speak(version, &self.environment(), launcher, &options).await? {
            // Whether people can sign in is not checked here.
            Ok(outcome) => (outcome.handshake.protocol_version.is_some(), outcome.message.unwrap_or_default()),
            Err(problem) => (false, problem),
        };
        self.store.note_answer(version, answers, waiting).await?;
        let shortfall = version.receipt.interpreter.as_ref().and_then(Interpreter::shortfall);
        Ok(Some(Liveness { answers, problem, shortfall }))
    }
}

/// Whether a version that is there has the proof that is asked for, and its publisher, where one is known, is of the repository
/// that the plan names.
fn is_proven(there: Option<&Version>, plan: &Plan, terms: Terms) -> bool {
    let Some(there) = there else { return true };
    let known = there.receipt.provenance.as_ref().zip(plan.repository.as_deref());
    terms.are_met(there) && known.is_none_or(|(known, wanted)| is_same_repository(&known.publisher.repository, wanted))
}

impl Session {
    /// Chooses the version, the kind of distribution and the platform. An agent whose current version is offered keeps the kind
    /// that is installed, as long as that is offered, unless one is named: it never changes by itself.
    ///
    /// # Errors
    /// [`Error`] when the index has no such agent or version, or this machine cannot run it.
    pub async fn plan(&self, named: &AgentSpec, kind: Option<Kind>, index: &Index) -> Result<Plan, Error> {
        let (offers, wanted, host) = (self.offers(named, index)?, self.plan_options(named, kind, index)?, self.host());
        if kind.is_none()
            && let Ok(Some(agent)) = self.store.agent(&named.id)
        {
            let receipt = &agent.current.receipt;
            let as_installed = PlanOptions { kind: Some(receipt.source.kind()), ..wanted.clone() };
            let plan = self.resolve(&offers, &as_installed, &host).await.ok();
            if let Some(plan) = plan.filter(|plan| plan.version == receipt.version) {
                return Ok(plan);
            }
        }
        self.resolve(&offers, &wanted, &host).await.map_err(|error| match &error {
            // A registry offers no version that it has recalled.
            Error::Resolve(resolve::Error::UnknownVersion { id, version, .. }) => {
                self.refuse_revoked(id, version).err().unwrap_or(error)
            }
            _ => error,
        })
    }

    /// The plan that installs a version again unchanged, without regard to the index.
    ///
    /// # Errors
    /// [`Error::Resolve`] when this machine cannot run it any more.
    pub async fn plan_again(&self, version: &Version) -> Result<Plan, Error> {
        let (receipt, offer) = (&version.receipt, version.offer());
        let version = Some(receipt.version.clone());
        let mut wanted = PlanOptions { version, kind: Some(receipt.source.kind()), ..self.wanted(receipt.id.clone()) };
        let host = self.host();
        wanted.platform = wanted.platform.or(receipt.foreign_platform(&host));
        self.resolve(&[offer], &wanted, &host).await
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
