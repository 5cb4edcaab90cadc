//! Resolves the level of each rule from defaults, `registry.toml` and flags.

use acp_registry_plan::failure::{Code, Failure};
use std::collections::{BTreeMap, HashMap};

use super::Rule;
use super::rules::{RULES, find};
use crate::config::Config;
use crate::finding::Level;
use acp_registry_plan::text::nearest;

/// The level of every rule: its default, unless overridden by configuration or flags.
#[derive(Debug, Clone, Default)]
pub struct Levels {
    all: Set,
    /// Overrides for single agents, by id.
    agents: HashMap<String, Set>,
}

/// Overrides of default levels.
#[derive(Debug, Clone, Default)]
struct Set {
    levels: HashMap<&'static str, Level>,
    warnings_are_errors: bool,
}

/// Stands for all warnings.
pub const WARNINGS: &str = "warnings";

/// A name that matches no rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.message())]
pub struct UnknownRule {
    /// The name as given, with control characters escaped.
    pub name: String,
    /// The name that was probably meant.
    pub suggestion: Option<String>,
}

impl UnknownRule {
    fn message(&self) -> String {
        if self.name == WARNINGS {
            return format!("the level of `{WARNINGS}` can only be `error`");
        }
        format!("there is no rule `{}`", self.name)
    }

    /// Creates the error with a suggestion.
    pub fn new(name: &str) -> Self {
        Self { name: acp_registry_plan::text::printable(name).into_owned(), suggestion: suggest(name) }
    }
}

/// Suggests a similar rule or group; `name` may lack the group.
fn suggest(name: &str) -> Option<String> {
    let groups = || RULES.iter().map(|rule| rule.group());
    if name == "warning" {
        return Some(WARNINGS.to_owned());
    }
    if let Some(group) = groups().find(|group| *group == name) {
        return Some(format!("{group}/*"));
    }
    if let Some(group) = name.strip_suffix("/*") {
        return nearest(group, groups()).map(|group| format!("{group}/*"));
    }
    let bare = |rule: &&&'static Rule| rule.name.split('/').nth(1) == Some(name);
    // Within an existing group only the rest of the name is compared: the shared group would make all its rules look
    // similar.
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
    /// The levels of a configuration. Levels for single agents override those for the registry.
    ///
    /// # Errors
    /// Returns [`UnknownRule`] if the configuration names a rule that does not exist.
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

    /// Sets the level of a rule, of a group (`icon/*`), or of `warnings`, which accepts only `error` and turns all
    /// remaining warnings into errors. Later calls override earlier ones, including those for single agents.
    ///
    /// # Errors
    /// Returns [`UnknownRule`] if `name` matches no rule.
    pub fn set(&mut self, name: &str, level: Level) -> Result<(), UnknownRule> {
        let rules = matching_rules(name, level)?;
        for set in self.agents.values_mut() {
            set.levels.retain(|rule, _| !rules.contains(rule));
        }
        self.all.put(&rules, level);
        Ok(())
    }

    /// Like [`Levels::set`], for findings about one agent.
    ///
    /// # Errors
    /// Returns [`UnknownRule`] if `name` matches no rule.
    fn set_for(&mut self, agent: &str, name: &str, level: Level) -> Result<(), UnknownRule> {
        let rules = matching_rules(name, level)?;
        self.agents.entry(agent.to_owned()).or_default().put(&rules, level);
        Ok(())
    }

    /// The level of a rule for findings about an agent, or about the registry itself if `agent` is `None`.
    pub fn of(&self, rule: &Rule, agent: Option<&str>) -> Level {
        self.level(rule, agent, rule.level)
    }

    /// Whether a rule reports findings about at least one agent or about the registry itself.
    pub(super) fn is_active(&self, rule: &Rule) -> bool {
        let agents = || self.agents.keys().map(|agent| Some(agent.as_str()));
        std::iter::once(None).chain(agents()).any(|agent| self.of(rule, agent) > Level::Off)
    }

    /// The level of findings, and that of a finding that is worse than the rule's default level: an error, unless the rule's
    /// level was set.
    pub(super) fn both(&self, rule: &Rule, agent: Option<&str>) -> (Level, Level) {
        (self.of(rule, agent), self.level(rule, agent, Level::Error))
    }

    fn level(&self, rule: &Rule, agent: Option<&str>, otherwise: Level) -> Level {
        let own = agent.and_then(|agent| self.agents.get(agent));
        let set = own.and_then(|own| own.levels.get(rule.name)).or_else(|| self.all.levels.get(rule.name));
        let level = set.copied().unwrap_or(otherwise);
        let warnings_are_errors = self.all.warnings_are_errors || own.is_some_and(|own| own.warnings_are_errors);
        if warnings_are_errors && level == Level::Warning { Level::Error } else { level }
    }
}

impl Set {
    /// Sets `level` for `rules`. An empty list stands for `warnings`.
    fn put(&mut self, rules: &[&'static str], level: Level) {
        self.warnings_are_errors |= rules.is_empty();
        self.levels.extend(rules.iter().map(|rule| (*rule, level)));
    }
}

/// Sorts groups before rules, so that a rule's own level overrides that of its group.
fn groups_first(rules: &BTreeMap<String, Level>) -> impl Iterator<Item = (&String, &Level)> {
    let (groups, rules): (Vec<_>, Vec<_>) = rules.iter().partition(|(name, _)| name.ends_with("/*"));
    groups.into_iter().chain(rules)
}

/// The rules that a name matches. The list is empty for `warnings`.
fn matching_rules(name: &str, level: Level) -> Result<Vec<&'static str>, UnknownRule> {
    if name == WARNINGS && level == Level::Error {
        return Ok(Vec::new());
    }
    let rules: Vec<&'static str> = match name.strip_suffix("/*") {
        Some(group) => RULES.iter().filter(|rule| rule.group() == group).map(|rule| rule.name).collect(),
        None => find(name).map(|rule| rule.name).into_iter().collect(),
    };
    if rules.is_empty() { Err(UnknownRule::new(name)) } else { Ok(rules) }
}

impl From<UnknownRule> for Failure {
    fn from(error: UnknownRule) -> Self {
        let near = error.suggestion.clone();
        let failure = Self::usage(error).code(Code::UnknownRule);
        if near.is_none() {
            failure.help("run `acp-registry rules` to see all rules")
        } else {
            failure.suggest(near.as_deref())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_setting_wins_and_unknown_names_are_refused() {
        let mut levels = Levels::default();
        let rule = find("icon/comment").unwrap();
        assert_eq!(levels.of(rule, None), Level::Warning);
        levels.set("warnings", Level::Error).unwrap();
        assert_eq!(levels.of(rule, None), Level::Error);
        levels.set("icon/*", Level::Off).unwrap();
        assert_eq!(levels.of(rule, None), Level::Off);
        levels.set("icon/comment", Level::Error).unwrap();
        assert_eq!(levels.of(rule, None), Level::Error);
        let error = levels.set("icon/coment", Level::Warning).unwrap_err();
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
        assert!(levels.set("icons/*", Level::Warning).is_err());
        let error = levels.set("warnings", Level::Off).unwrap_err();
        assert_eq!(error.to_string(), "the level of `warnings` can only be `error`");
    }

    #[test]
    fn an_agent_can_have_levels_of_its_own() {
        let mut levels = Levels::default();
        let (comment, missing) = (find("icon/comment").unwrap(), find("manifest/missing-license-url").unwrap());
        levels.set_for("a", "icon/*", Level::Off).unwrap();
        levels.set_for("b", missing.name, Level::Error).unwrap();
        levels.set_for("c", "warnings", Level::Error).unwrap();
        let of = |levels: &Levels, rule| ["a", "b", "c", "d"].map(|agent| levels.of(rule, Some(agent)));
        assert_eq!(of(&levels, comment), [Level::Off, Level::Warning, Level::Error, Level::Warning]);
        assert_eq!(of(&levels, missing), [Level::Off, Level::Error, Level::Off, Level::Off]);
        assert!(levels.is_active(missing) && levels.of(missing, None) == Level::Off);
        assert_eq!(levels.both(comment, Some("a")).1, Level::Off);
        assert!(levels.set_for("a", "icon/coment", Level::Warning).is_err());
        // Flags are applied after the configuration.
        levels.set("icon/comment", Level::Error).unwrap();
        assert_eq!(of(&levels, comment), [Level::Error; 4]);
    }

    #[test]
    fn a_level_that_somebody_set_also_holds_for_grave_findings() {
        let mut levels = Levels::default();
        let rule = find("registry/quarantine").unwrap();
        assert_eq!(levels.both(rule, None).1, Level::Error);
        levels.set(rule.name, Level::Warning).unwrap();
        assert_eq!(levels.both(rule, None).1, Level::Warning);
    }
}
