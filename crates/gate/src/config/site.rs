//! The `[site]` table of `registry.toml`.

use std::collections::{BTreeMap, BTreeSet};

use acp_registry_plan::timestamp::date;
use serde::Deserialize;

/// Settings of the catalog site.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct SiteConfig {
    /// URL of the registry's repository.
    pub repository: Option<String>,
    /// URL for editing an entry; `{id}` is replaced by the agent's id.
    pub edit: Option<String>,
    /// The files to publish for each agent, next to its page.
    pub agent_files: BTreeSet<AgentFile>,
    /// Pictures for link previews.
    pub previews: PreviewSetting,
    /// Agents that are adapters of a program with a licence of its own, by id, with the name of the program.
    pub adapters: BTreeMap<String, String>,
    /// The day of an agent's first release by its publisher, by id, as `YYYY-MM-DD`.
    pub appeared: BTreeMap<String, String>,
}

/// A file published for each agent, next to its page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentFile {
    /// `agent.json`: the entry.
    Json,
    /// `index.md`: the page as Markdown.
    Markdown,
    /// `feed.atom`: the agent's versions.
    Feed,
    /// `badge.svg`: a badge to embed elsewhere.
    Badge,
    /// `card.html`: the agent as a card to embed elsewhere. Not there unless it is asked for.
    Card,
}

impl Default for SiteConfig {
    fn default() -> Self {
        let agent_files = [AgentFile::Json, AgentFile::Markdown, AgentFile::Feed, AgentFile::Badge].into();
        Self {
            repository: None,
            edit: None,
            agent_files,
            previews: PreviewSetting::default(),
            adapters: BTreeMap::new(),
            appeared: BTreeMap::new(),
        }
    }
}

impl SiteConfig {
    pub(super) fn check(&self) -> Result<(), String> {
        for (key, address) in [("repository", &self.repository), ("edit", &self.edit)] {
            let Some(address) = address else { continue };
            let example = address.replace("{id}", "id");
            let url = url::Url::parse(&example).ok().filter(|url| url.scheme() == "https" && url.has_host());
            if url.is_none_or(|url| !url.username().is_empty() || url.password().is_some()) {
                return Err(format!("`{key}` of `[site]` is {address:?}, which is not an https address"));
            }
        }
        // An agent's id must not be able to change the host that the link leads to.
        let in_path = |edit: &String| edit.splitn(4, '/').nth(3).is_some_and(|path| path.contains("{id}"));
        let in_host = |edit: &String| edit.split('/').nth(2).is_some_and(|host| host.contains("{id}"));
        if self.edit.as_ref().is_some_and(|edit| !in_path(edit) || in_host(edit)) {
            return Err("`edit` of `[site]` must contain `{id}`, which is replaced by the agent's id, after the host"
                .to_owned());
        }
        if let Some((id, day)) = self.appeared.iter().find(|(_, day)| date(day).is_none()) {
            return Err(format!("`{id}` of `[site.appeared]` is {day:?}, which is not a day as 2026-12-31"));
        }
        Ok(())
    }

    /// The URL for editing an agent's entry, and whether it leads to that entry. Without `edit`, it is the entry's file
    /// on GitHub, or the repository (`false`) if that is hosted elsewhere.
    pub fn edit_url(&self, id: &str) -> Option<(String, bool)> {
        if let Some(edit) = &self.edit {
            return Some((edit.replace("{id}", id), true));
        }
        let repository = self.repository.as_deref()?.trim_end_matches('/');
        // GitHub resolves `HEAD` to the repository's default branch.
        let is_github = repository.strip_prefix("https://github.com/").is_some_and(|path| path.split('/').count() == 2);
        let entry = || (format!("{}/blob/HEAD/{id}/agent.json", repository.trim_end_matches(".git")), true);
        Some(if is_github { entry() } else { (repository.to_owned(), false) })
    }
}

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

    fn site(repository: Option<&str>, edit: Option<&str>) -> SiteConfig {
        let [repository, edit] = [repository, edit].map(|text| text.map(ToOwned::to_owned));
        SiteConfig { repository, edit, ..SiteConfig::default() }
    }

    #[test]
    fn entries_are_edited_where_the_configuration_says() {
        let of = |repository, edit| site(repository, edit).edit_url("a");
        assert_eq!(of(None, None), None);
        let entry = |text: &str| Some((text.to_owned(), true));
        assert_eq!(
            of(Some("https://github.com/o/r.git"), None),
            entry("https://github.com/o/r/blob/HEAD/a/agent.json")
        );
        assert_eq!(of(Some("https://example.com/r/"), None), Some(("https://example.com/r".to_owned(), false)));
        assert_eq!(of(None, Some("https://example.com/{id}?x")), entry("https://example.com/a?x"));
    }

    #[test]
    fn only_https_is_linked() {
        for address in ["http://example.com", "javascript:alert(1)", "https://u@example.com", "x"] {
            assert!(site(Some(address), None).check().unwrap_err().contains("not an https address"), "{address}");
        }
        for edit in
            ["https://example.com/", "https://{id}.example.com/", "https://{id}.example.com/{id}", "https://e.com?{id}"]
        {
            assert!(site(None, Some(edit)).check().unwrap_err().contains("{id}"), "{edit}");
        }
        assert!(site(Some("https://example.com"), Some("https://example.com/{id}")).check().is_ok());
    }

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
