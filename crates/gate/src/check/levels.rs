//! Which rules run, and how much their findings weigh.

use std::collections::{BTreeMap, HashMap};

use super::Rule;
use super::rules::{RULES, find};
use crate::config::{Config, LevelSetting};
use crate::finding::Level;
use acp_registry_core::text::nearest;

/// The level of every rule: its default, unless configuration or flags have set it.
#[derive(Debug, Clone, Default)]
pub struct Levels {
    all: Set,
    /// What is different for single agents, by id.
    agents: HashMap<String, Set>,
}

/// Levels that were set.
#[derive(Debug, Clone, Default)]
struct Set {
    levels: HashMap<&'static str, Level>,
    deny_warnings: bool,
}

/// There is no rule of this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no rule `{name}`")]
pub struct UnknownRule {
    /// The name as given, without control characters.
    pub name: String,
    /// What was probably meant.
    pub suggestion: Option<String>,
}

impl UnknownRule {
    /// The error for a name, with the rule that was probably meant.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: acp_registry_core::text::printable(name).into_owned(), suggestion: suggest(name) }
    }
}

/// The rule that is spelled alike, with its group or without, or the group.
fn suggest(name: &str) -> Option<String> {
    let groups = || RULES.iter().map(|rule| rule.group());
    if name == "warning" {
        return Some("warnings".to_owned());
    }
    if let Some(group) = groups().find(|group| *group == name) {
        return Some(format!("{group}/*"));
    }
    if let Some(group) = name.strip_suffix("/*") {
        return nearest(group, groups()).map(|group| format!("{group}/*"));
    }
    let bare = |rule: &&&'static Rule| rule.name.split('/').nth(1) == Some(name);
    // In a group that there is, its name makes no rule more alike than another.
    let in_group = |(group, bare): (&str, &str)| {
        let rules = RULES.iter().filter(|rule| rule.group() == group).filter_map(|rule| rule.name.split('/').nth(1));
        nearest(bare, rules).map(|bare| format!("{group}/{bare}"))
    };
    match name.split_once('/') {
        Some(parts) if groups().any(|group| group == parts.0) => in_group(parts),
        _ => {
            let whole = nearest(name, RULES.iter().map(|rule| rule.name));
            RULES.iter().find(bare).map(|rule| rule.name).or(whole).map(ToOwned::to_owned)
        }
    }
}

impl Levels {
    /// The levels that a configuration sets, those of single agents last.
    ///
    /// # Errors
    /// [`UnknownRule`] for a name that the configuration has and that means no rule.
    pub fn configured(config: &Config) -> Result<Self, UnknownRule> {
        let mut levels = Self::default();
        for (name, setting) in groups_first(&config.rules) {
            levels.set(name, *setting)?;
        }
        for (id, agent) in &config.agents {
            for (name, setting) in groups_first(&agent.rules) {
                levels.set_for(id, name, *setting)?;
            }
        }
        Ok(levels)
    }

    /// Sets the level of a rule, of a group of rules (`icon/*`), or, to deny, of `warnings`: whatever is a warning then.
    /// A later call wins over an earlier one, also over one for a single agent.
    ///
    /// # Errors
    /// [`UnknownRule`] when no rule is meant.
    pub fn set(&mut self, name: &str, setting: LevelSetting) -> Result<(), UnknownRule> {
        let (rules, level) = meant(name, setting)?;
        for set in self.agents.values_mut() {
            set.levels.retain(|rule, _| !rules.contains(rule));
        }
        self.all.put(&rules, level);
        Ok(())
    }

    /// Sets the same for one agent only.
    ///
    /// # Errors
    /// [`UnknownRule`] when no rule is meant.
    pub fn set_for(&mut self, agent: &str, name: &str, setting: LevelSetting) -> Result<(), UnknownRule> {
        let (rules, level) = meant(name, setting)?;
        self.agents.entry(agent.to_owned()).or_default().put(&rules, level);
        Ok(())
    }

    /// The level of a rule in findings about an agent, or about none.
    #[must_use]
    pub fn of(&self, rule: &Rule, agent: Option<&str>) -> Level {
        self.level(rule, agent, rule.level)
    }

    /// Whether findings of a rule about anything are reported.
    #[must_use]
    pub fn is_active(&self, rule: &Rule) -> bool {
        let agents = || self.agents.keys().map(|agent| Some(agent.as_str()));
        std::iter::once(None).chain(agents()).any(|agent| self.of(rule, agent) > Level::Allow)
    }

    /// The level of a finding that its rule calls worse than the rule's default: an error, unless the rule's level was
    /// set.
    pub(super) fn of_grave(&self, rule: &Rule, agent: Option<&str>) -> Level {
        self.level(rule, agent, Level::Error)
    }

    fn level(&self, rule: &Rule, agent: Option<&str>, otherwise: Level) -> Level {
        let own = agent.and_then(|agent| self.agents.get(agent));
        let set = own.and_then(|own| own.levels.get(rule.name)).or_else(|| self.all.levels.get(rule.name));
        let level = set.copied().unwrap_or(otherwise);
        let deny_warnings = self.all.deny_warnings || own.is_some_and(|own| own.deny_warnings);
        if deny_warnings && level == Level::Warning { Level::Error } else { level }
    }
}

impl Set {
    /// Without rules, `warnings` are meant.
    fn put(&mut self, rules: &[&'static str], level: Level) {
        self.deny_warnings |= rules.is_empty();
        self.levels.extend(rules.iter().map(|rule| (*rule, level)));
    }
}

/// A rule named by itself is meant more precisely than its group.
fn groups_first(rules: &BTreeMap<String, LevelSetting>) -> impl Iterator<Item = (&String, &LevelSetting)> {
    let (groups, rules): (Vec<_>, Vec<_>) = rules.iter().partition(|(name, _)| name.ends_with("/*"));
    groups.into_iter().chain(rules)
}

/// The rules that a name means, and the level that they are to have; no rules for `warnings`.
fn meant(name: &str, setting: LevelSetting) -> Result<(Vec<&'static str>, Level), UnknownRule> {
    let level = match setting {
        LevelSetting::Deny => Level::Error,
        LevelSetting::Warn => Level::Warning,
        LevelSetting::Allow => Level::Allow,
    };
    if name == "warnings" && level == Level::Error {
        return Ok((Vec::new(), level));
    }
    let rules: Vec<&'static str> = match name.strip_suffix("/*") {
        Some(group) => RULES.iter().filter(|rule| rule.group() == group).map(|rule| rule.name).collect(),
        None => find(name).map(|rule| rule.name).into_iter().collect(),
    };
    if rules.is_empty() { Err(UnknownRule::new(name)) } else { Ok((rules, level)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_setting_wins_and_unknown_names_are_refused() {
        let mut levels = Levels::default();
        let rule = find("icon/comment").unwrap();
        assert_eq!(levels.of(rule, None), Level::Warning);
        levels.set("warnings", LevelSetting::Deny).unwrap();
        assert_eq!(levels.of(rule, None), Level::Error);
        levels.set("icon/*", LevelSetting::Allow).unwrap();
        assert_eq!(levels.of(rule, None), Level::Allow);
        levels.set("icon/comment", LevelSetting::Deny).unwrap();
        assert_eq!(levels.of(rule, None), Level::Error);
        let error = levels.set("icon/coment", LevelSetting::Warn).unwrap_err();
        assert_eq!(error.suggestion.as_deref(), Some("icon/comment"));
        for (name, suggestion) in [
            ("size", Some("icon/size")),
            ("warning", Some("warnings")),
            ("icon", Some("icon/*")),
            ("icons/*", Some("icon/*")),
            ("icons/size", Some("icon/size")),
            ("icon/nosuch", None),
        ] {
            assert_eq!(UnknownRule::new(name).suggestion.as_deref(), suggestion, "{name}");
        }
        assert!(levels.set("icons/*", LevelSetting::Warn).is_err());
        assert!(levels.set("warnings", LevelSetting::Allow).is_err());
    }

    #[test]
    fn an_agent_can_have_levels_of_its_own() {
        let mut levels = Levels::default();
        let (comment, missing) = (find("icon/comment").unwrap(), find("manifest/missing-license-url").unwrap());
        levels.set_for("a", "icon/*", LevelSetting::Allow).unwrap();
        levels.set_for("b", missing.name, LevelSetting::Deny).unwrap();
        levels.set_for("c", "warnings", LevelSetting::Deny).unwrap();
        let of = |levels: &Levels, rule| ["a", "b", "c", "d"].map(|agent| levels.of(rule, Some(agent)));
        assert_eq!(of(&levels, comment), [Level::Allow, Level::Warning, Level::Error, Level::Warning]);
        assert_eq!(of(&levels, missing), [Level::Allow, Level::Error, Level::Allow, Level::Allow]);
        assert!(levels.is_active(missing) && levels.of(missing, None) == Level::Allow);
        assert_eq!(levels.of_grave(comment, Some("a")), Level::Allow);
        assert!(levels.set_for("a", "icon/coment", LevelSetting::Warn).is_err());
        // A flag is set last.
        levels.set("icon/comment", LevelSetting::Deny).unwrap();
        assert_eq!(of(&levels, comment), [Level::Error; 4]);
    }

    #[test]
    fn a_level_that_somebody_set_also_holds_for_grave_findings() {
        let mut levels = Levels::default();
        let rule = find("registry/quarantine").unwrap();
        assert_eq!(levels.of_grave(rule, None), Level::Error);
        levels.set(rule.name, LevelSetting::Warn).unwrap();
        assert_eq!(levels.of_grave(rule, None), Level::Warning);
    }
}
