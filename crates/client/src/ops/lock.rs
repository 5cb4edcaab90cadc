//! The lock file of an installation.

use std::collections::BTreeMap;
use std::path::Path;

use acp_registry_host::fs::temporary;
use acp_registry_plan::failure::{Code, Failure};
use acp_registry_plan::text::{escape, quote};

use super::find::find_offer;
use super::{Event, Events};
use crate::index::Index;
use crate::install::{Kind, Source};
use crate::lockfile::{LockFile, Locker};
use crate::resolve::{Plan, PlanOptions, resolve};
use crate::session::{AgentSpec, InstallRequest, Session};

/// Plans the installation of the named agents from the lock file, or of all its agents if none is named.
pub(super) fn plans_in(
    path: &Path,
    named: &[AgentSpec],
    kind: Option<Kind>,
    session: &Session,
) -> Result<Vec<InstallRequest>, Failure> {
    let refused = |message| Failure::refused(message).code(Code::LockMismatch);
    let file = LockFile::read(path)?;
    let shown = path.display();
    let all = file.agents.keys().map(|id| AgentSpec::any(id));
    let named: Vec<AgentSpec> = if named.is_empty() { all.collect() } else { named.to_vec() };
    let mut tasks = Vec::new();
    if let Some(latest) = named.iter().find(|one| one.is_latest) {
        let message = format!(
            "{} is the version in the index, and --locked takes that of the lock file",
            quote(&latest.to_string())
        );
        return Err(Failure::usage(message).help(format!("name {} without a version", quote(&latest.id))));
    }
    for one in named {
        let id = quote(&one.id);
        let Some((known, locked)) = file.agents.get_key_value(one.id.as_str()) else {
            let help = format!("add it with `acp-registry install {} --lock {shown}`", escape(&one.id));
            return Err(refused(format!("{id} is not in the lock file {shown}")).help(help));
        };
        if let Some(version) = one.version.as_ref().filter(|version| **version != locked.version) {
            let (version, other) = (quote(version), quote(&locked.version));
            let failure = refused(format!("the lock file {shown} has {id} {other}, not {version}"));
            return Err(failure.help(format!("name {id} without a version to install that of the lock file")));
        }
        let wanted = PlanOptions { kind, ..session.wanted(known.clone()) };
        let plan = resolve(&[locked.offer()], &wanted, &session.host())?;
        let is_known = match plan.source {
            Source::Binary(_) => plan.expected.sha256.is_some(),
            Source::Npx(_) | Source::Uvx(_) => plan.expected.packages.is_some(),
        };
        if !is_known {
            let kind = plan.kind().as_str();
            let message = format!("the lock file {shown} has no digests for {id} by {kind}");
            return Err(refused(message).help(format!("write it again with `--lock {shown}`")));
        }
        tasks.push(InstallRequest::new(plan));
    }
    Ok(tasks)
}

/// Records the installed versions in the lock file. Its other entries are kept.
pub(super) async fn write(
    path: &Path,
    plans: impl Iterator<Item = &Plan>,
    index: &Index,
    session: &Session,
    events: &Events<'_>,
) -> Result<(), Failure> {
    let read = || if path.exists() { LockFile::read(path) } else { Ok(LockFile::default()) };
    let earlier = read()?;
    let mut entries = BTreeMap::new();
    let temporary = temporary();
    let installer = if session.options().is_offline {
        None
    } else {
        Some(session.installer(session.options().platform.or(session.host().platform))?)
    };
    for plan in plans {
        let named = AgentSpec::exact(&plan.id, &plan.version);
        let offer = find_offer(session, &named, index, events)?;
        let versions: Vec<_> =
            session.store.versions(&plan.id)?.into_iter().filter(|one| one.receipt.version == plan.version).collect();
        let recorder = Locker {
            installer: installer.as_ref(),
            temporary: &temporary,
            earlier: Some(&earlier),
            installed: &versions,
        };
        let (entry, notes) = recorder.lock(&plan.id, &offer).await;
        for note in notes {
            events(Event::Warning(&note));
        }
        entries.insert(plan.id.clone(), entry);
    }
    // Finding the digests may take minutes, in which another process may have added its agents.
    let mut file = read()?;
    file.agents.extend(entries);
    file.write(path).map_err(|error| error.unwritable("--lock"))
}
