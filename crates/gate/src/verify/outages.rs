//! Remembers sources that cannot be reached, so that only one agent waits for the timeouts and retries of an
//! unreachable package registry or archive host.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use url::Url;

use acp_registry_client::install::{Kind, Source};
use acp_registry_plan::text::quote;

/// The source of a distribution.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum DistributionOrigin {
    /// The registry of a package manager.
    Registry(Kind),
    /// The host of an archive, with its port unless that is the default.
    Host(String),
}

impl DistributionOrigin {
    /// The source of a distribution; `None` for an archive URL without a host.
    fn of(source: &Source) -> Option<Self> {
        let Source::Binary(target) = source else { return Some(Self::Registry(source.kind())) };
        let url = Url::parse(&target.archive).ok()?;
        let host = url.host_str()?;
        Some(Self::Host(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))))
    }
}

impl fmt::Display for DistributionOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registry(Kind::Uvx) => f.write_str("the Python package index"),
            Self::Registry(_) => f.write_str("the npm registry"),
            Self::Host(host) => write!(f, "the archive host {}", quote(host)),
        }
    }
}

/// The unreachable sources of one run, with messages. Clones share the state.
#[derive(Debug, Clone, Default)]
pub struct Sources(Arc<Mutex<BTreeMap<DistributionOrigin, String>>>);

impl Sources {
    /// The source and a message, if it is known to be down.
    pub(super) fn why_down(&self, source: &Source) -> Option<(DistributionOrigin, String)> {
        let origin = DistributionOrigin::of(source)?;
        let why = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&origin).cloned()?;
        Some((origin, why))
    }

    /// Records that the source of agent `id` could not be reached.
    pub(super) fn mark_down(&self, source: &Source, id: &str, message: &str) -> Option<DistributionOrigin> {
        let origin = DistributionOrigin::of(source)?;
        let what = match &origin {
            DistributionOrigin::Registry(_) => "the package source".to_owned(),
            DistributionOrigin::Host(_) => origin.to_string(),
        };
        let sentence = format!("not tried: {what} could not be reached for {}: {message}", quote(id));
        let mut down = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        down.entry(origin.clone()).or_insert(sentence);
        Some(origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use acp_registry_plan::manifest::BinaryTarget;

    fn archive(address: &str) -> Source {
        let (platform, archive) = ("linux-x86_64".to_owned(), address.to_owned());
        Source::Binary(BinaryTarget {
            platform,
            archive,
            cmd: "./a".to_owned(),
            sha256: None,
            args: Vec::new(),
            env: Vec::new(),
        })
    }

    #[test]
    fn archives_of_one_host_share_its_failure() {
        let sources = Sources::default();
        let first = archive("https://h.example/a.zip");
        assert_eq!(sources.why_down(&first), None);
        let origin = sources.mark_down(&first, "a", "it sleeps").unwrap();
        assert_eq!(origin.to_string(), "the archive host `h.example`");
        let (found, why) = sources.why_down(&archive("https://h.example:443/b.zip")).unwrap();
        assert_eq!(found, origin);
        assert_eq!(why, "not tried: the archive host `h.example` could not be reached for `a`: it sleeps");
        for other in ["https://i.example/a.zip", "https://h.example:444/a.zip", "https://x.h.example/a.zip", "nonsense"]
        {
            assert_eq!(sources.why_down(&archive(other)), None, "{other}");
        }
        assert_eq!(sources.mark_down(&archive("nonsense"), "b", "x"), None);
    }
}
