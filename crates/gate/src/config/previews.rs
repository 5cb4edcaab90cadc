//! Which pages have a picture for link previews.

use serde::Deserialize;

/// The number of agents up to which each has a picture of its own by default.
const LIMIT: usize = 500;

/// The setting `previews`: `true`, `false`, or the greatest number of agents that have pictures of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "`previews` is `true`, `false` or a number of agents")]
pub enum PreviewSetting {
    /// Whether there are pictures, however many agents there are.
    Switch(bool),
    /// Above this number of agents, all pages share the picture of the site.
    Limit(usize),
}

impl Default for PreviewSetting {
    fn default() -> Self {
        Self::Limit(LIMIT)
    }
}

/// The pictures that a site has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Previews {
    /// No pictures.
    None,
    /// One for all pages.
    OfSite,
    /// One for each agent, and one for the other pages.
    OfAgents,
}

impl PreviewSetting {
    /// The pictures of a site with this many agents.
    #[must_use]
    pub fn of(self, agents: usize) -> Previews {
        match self {
            Self::Switch(false) => Previews::None,
            Self::Limit(limit) if agents > limit => Previews::OfSite,
            Self::Switch(true) | Self::Limit(_) => Previews::OfAgents,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn above_the_limit_the_site_has_one_picture() {
        let default = PreviewSetting::default();
        assert_eq!(
            [0, 500, 501].map(|count| default.of(count)),
            [Previews::OfAgents, Previews::OfAgents, Previews::OfSite]
        );
        assert_eq!(PreviewSetting::Limit(0).of(1), Previews::OfSite);
        assert_eq!(PreviewSetting::Switch(true).of(100_000), Previews::OfAgents);
        assert_eq!(PreviewSetting::Switch(false).of(1), Previews::None);
    }
}
