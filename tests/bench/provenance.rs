//! What it costs to check who has built something.

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use acp_registry::digest::Sha256;
use acp_registry::provenance::{Artifact, TrustRoots};
use serde_json::json;

use crate::attester::{Attestation, Sigstore};

/// How long the check of a bundle may take.
const BUDGET: Duration = Duration::from_millis(20);

/// Checks one bundle many times.
pub(crate) fn check(folder: &Path) {
    let (sigstore, digest) = (Sigstore::new(), Sha256::of("an archive"));
    let file = folder.join("trusted_root.json");
    fs::write(&file, sigstore.root().to_string()).expect("a trusted root");
    let subject = json!([{ "name": "a", "digest": { "sha256": digest.to_string() } }]);
    let bundle = [sigstore.sign(&Attestation::new("o/r", subject)).to_string()];
    let began = Instant::now();
    let roots = TrustRoots::open(Some(&file)).expect("a trusted root");
    let opened = began.elapsed();
    let mut times: Vec<Duration> = (0..101)
        .map(|_| {
            let began = Instant::now();
            let found = roots.check(&bundle, &Artifact::Archive(digest), "https://github.com/o/r");
            assert_eq!(black_box(found).expect("an attestation that counts").len(), 1);
            began.elapsed()
        })
        .collect();
    times.sort_unstable();
    println!(
        "provenance: a bundle {:.2?}, at most {:.2?} (budget {BUDGET:?}); trusted root {opened:.2?}",
        times[50], times[100]
    );
}
