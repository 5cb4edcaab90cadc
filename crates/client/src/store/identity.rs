//! Whether a version is still what was installed under its number: the bytes of a version never change.

use crate::install::{DigestSource, Proof, Source, is_same_package};
use crate::resolve::{OfferOrigin, Plan};

use super::{Error, Receipt, Store, VersionChange};

impl Store {
    /// Refuses a plan that gives other bytes to a version that has a receipt, current or not.
    ///
    /// # Errors
    /// [`Error::Changed`] when the plan differs; other errors when the store cannot be read.
    pub fn refuse_changed(&self, plan: &Plan) -> Result<(), Error> {
        let known = self.known(plan)?;
        let of_kind: Vec<&Receipt> = known.iter().filter(|known| known.kind() == Some(plan.kind())).collect();
        let mut change = of_kind.iter().find_map(|known| announced(known, plan));
        if of_kind.is_empty() && !plan.is_kind_wanted && plan.origin != OfferOrigin::Lock {
            let other = known.iter().find_map(Receipt::kind);
            change = change.or_else(|| Some(VersionChange::Kind { known: other?, now: plan.kind() }));
        }
        change.map_or(Ok(()), |change| Err(changed(plan, change)))
    }

    /// The receipts of the version and platform of a plan.
    pub(super) fn known(&self, plan: &Plan) -> Result<Vec<Receipt>, Error> {
        let platform = plan.platform.map(acp_registry_plan::manifest::Platform::as_str);
        let versions = self.versions(&plan.id)?.into_iter().map(|version| version.receipt);
        let is_same = |known: &Receipt| known.is_of_version(&plan.version) && known.platform.as_deref() == platform;
        Ok(versions.filter(is_same).collect())
    }
}

/// Refuses received bytes that differ from those of a receipt of the same version. Equal bytes keep their proof.
pub(super) fn refuse_other_bytes(known: &[Receipt], plan: &Plan, proof: &mut Proof) -> Result<(), Error> {
    for known in known.iter().filter(|known| known.kind() == Some(plan.kind())) {
        if let Some(change) = differing_bytes(known, proof) {
            return Err(changed(plan, change));
        }
        if proof.verified == DigestSource::None && known.sha256.is_some() {
            proof.verified = known.verified();
        }
    }
    Ok(())
}

fn changed(plan: &Plan, change: VersionChange) -> Error {
    Error::Changed { id: plan.id.to_string(), version: plan.version.clone(), change }
}

/// How a plan differs from a receipt of the same kind, before anything is fetched.
fn announced(known: &Receipt, plan: &Plan) -> Option<VersionChange> {
    let target = match &plan.source {
        Source::Binary(target) => target,
        Source::Npx(package) | Source::Uvx(package) => {
            let (known, now) = (known.package.as_ref()?, &package.package);
            let place = || VersionChange::Place { what: "package", known: known.clone(), now: now.clone() };
            return (!is_same_package(plan.kind(), known, now)).then(place);
        }
    };
    let digest = known.sha256.as_ref()?;
    let claims: Vec<&String> = [target.sha256.as_ref(), plan.expected.sha256.as_ref()].into_iter().flatten().collect();
    if let Some(now) = claims.iter().find(|claim| !claim.eq_ignore_ascii_case(digest)) {
        return Some(VersionChange::Digest { known: digest.clone(), now: (*now).clone() });
    }
    if !claims.is_empty() {
        return None;
    }
    let is_of_index = matches!(plan.origin, OfferOrigin::Index | OfferOrigin::Preview);
    if is_of_index && known.verified() == DigestSource::Manifest {
        return Some(VersionChange::NoDigest { known: digest.clone() });
    }
    let places = [("address", known.archive.as_ref(), &target.archive), ("cmd", known.cmd.as_ref(), &target.cmd)];
    let place =
        places.into_iter().find_map(|(what, known, now)| Some((what, known.filter(|known| *known != now)?, now)));
    place.map(|(what, known, now)| VersionChange::Place { what, known: known.clone(), now: now.clone() })
}

/// How received bytes differ from those of a receipt of the same kind.
fn differing_bytes(known: &Receipt, proof: &Proof) -> Option<VersionChange> {
    let sha256 = proof.sha256.map(|digest| digest.to_string());
    let values = [("SHA-256", &known.sha256, &sha256), ("integrity value", &known.integrity, &proof.integrity)];
    values.into_iter().find_map(|(what, known, now)| {
        let (known, now) = (known.as_ref()?, now.as_ref()?);
        (!known.eq_ignore_ascii_case(now)).then(|| VersionChange::Bytes {
            what,
            known: known.clone(),
            now: now.clone(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integrity_values_are_compared_where_both_are_known() {
        let receipt = |integrity: Option<&str>| -> Receipt {
            serde_json::from_value(serde_json::json!({
                "schema": 1, "id": "a", "version": "1", "distribution": "npx", "platform": null, "package": "p@1",
                "archive": null, "cmd": null, "sha256": null, "integrity": integrity, "verified": "npm",
                "program": "p", "program_size": 0, "interpreter": null, "args": [], "env": {}, "index_sha256": null,
                "installed_at": "", "size": 0,
            }))
            .unwrap()
        };
        let proof = |integrity: &str| Proof {
            verified: DigestSource::Npm,
            sha256: None,
            integrity: Some(integrity.to_owned()),
        };
        assert_eq!(differing_bytes(&receipt(None), &proof("sha512-x")), None);
        assert_eq!(differing_bytes(&receipt(Some("sha512-x")), &proof("sha512-x")), None);
        let change = differing_bytes(&receipt(Some("sha512-x")), &proof("sha512-y")).unwrap();
        assert_eq!(
            change.to_string(),
            "its integrity value was `sha512-x` when it was installed, and is `sha512-y` as it comes now"
        );
    }
}
