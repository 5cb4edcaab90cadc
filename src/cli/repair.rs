//! Repairing installed agents in their version, for `doctor --fix` and `update`.

use acp_registry::install::{Kind, Verified};
use acp_registry::store::{Pin, Start, Version};

use super::exit::Failure;
use super::install::{Task, install_one};
use super::place::{Session, environment};
use super::progress::Installs;
use super::run::plan_again;

/// Whether something of a version can be repaired.
pub(super) fn is_needed(version: &Version) -> bool {
    let is_sound = version.is_whole() && version.damages().is_ok_and(|damages| damages.is_empty());
    !is_sound || version.is_repairable(&environment())
}

/// Finds what starts a version again, and installs what is damaged again as it was.
pub(super) async fn repair(version: &Version, session: &Session<'_>, bars: &Installs) -> Result<(), Failure> {
    let receipt = &version.receipt;
    session.store.follow_interpreter(&receipt.id, &environment(), &|holder| session.waiting(holder)).await?;
    if version.is_whole() && version.damages().is_ok_and(|damages| damages.is_empty()) {
        return Ok(());
    }
    if receipt.verified() == Verified::Lock && receipt.kind() != Some(Kind::Binary) {
        let message = "was installed by a lock file, which must be there to install it again";
        return Err(Failure::unable(format!(
            "it {message}: `acp-registry install --locked --lock FILE {}`",
            receipt.id
        )));
    }
    let Some(plan) = plan_again(version, session)? else { return Ok(()) };
    install_one(session, &Task { plan, pin: Pin::Keep, start: Start::This }, bars).await.map(drop)
}
