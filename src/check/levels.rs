//! Which rules run, and how much their findings weigh.

use std::collections::HashMap;

use super::rules::{RULES, find};
use super::{Rule, rules};
use crate::finding::Level;
use crate::registry::LevelSetting;
use crate::text::nearest;

/// The level of every rule: its default, unless configuration or flags have set it.
#[derive(Debug, Clone, Default)]
pub struct Levels {
    set: HashMap<&'static str, Level>,
    deny_warnings: bool,
}

/// There is no rule of this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no rule `{name}`")]
pub struct UnknownRule {
    /// The name as given, without control characters.
    pub name: String,
    /// What was probably meant.
    pub suggestion: Option<&'static str>,
}

impl UnknownRule {
    /// The error for a name, with the rule that was probably meant.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: crate::text::printable(name).into_owned(), suggestion: suggest(name) }
    }
}

/// The rule that is spelled alike, with its group or without.
fn suggest(name: &str) -> Option<&'static str> {
    let bare = |rule: &&&'static Rule| rule.name.split('/').nth(1) == Some(name);
    let whole = nearest(name, RULES.iter().map(|rule| rule.name));
    if name == "warning" { Some("warnings") } else { RULES.iter().find(bare).map(|rule| rule.name).or(whole) }
}

impl Levels {
    /// Sets the level of a rule, of a group of rules (`icon/*`), or, to deny, of `warnings`: whatever is a warning then.
    /// A later call wins over an earlier one.
    ///
    /// # Errors
    /// [`UnknownRule`] when no rule is meant.
    pub fn set(&mut self, name: &str, setting: LevelSetting) -> Result<(), UnknownRule> {
        let level = match setting {
            LevelSetting::Deny => Level::Error,
            LevelSetting::Warn => Level::Warning,
            LevelSetting::Allow => Level::Allow,
        };
        if name == "warnings" && level == Level::Error {
            self.deny_warnings = true;
            return Ok(());
        }
        if let Some(group) = name.strip_suffix("/*") {
            let members = RULES.iter().filter(|rule| rule.group() == group).map(|rule| (rule.name, level));
            let before = self.set.len();
            self.set.extend(members);
            return if self.set.len() > before || rules::is_group(group) {
                Ok(())
            } else {
                Err(UnknownRule::new(name))
            };
        }
        let rule = find(name).ok_or_else(|| UnknownRule::new(name))?;
        self.set.insert(rule.name, level);
        Ok(())
    }

    /// The level of a rule.
    #[must_use]
    pub fn of(&self, rule: &Rule) -> Level {
        self.raise(self.set.get(rule.name).copied().unwrap_or(rule.level))
    }

    /// The level of a finding that its rule calls worse than the rule's default: an error, unless somebody has set the
    /// rule's level.
    pub(super) fn of_grave(&self, rule: &Rule) -> Level {
        self.raise(self.set.get(rule.name).copied().unwrap_or(Level::Error))
    }

    fn raise(&self, level: Level) -> Level {
        if self.deny_warnings && level == Level::Warning { Level::Error } else { level }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_setting_wins_and_unknown_names_are_refused() {
        let mut levels = Levels::default();
        let rule = find("icon/comment").unwrap();
        assert_eq!(levels.of(rule), Level::Warning);
        levels.set("warnings", LevelSetting::Deny).unwrap();
        assert_eq!(levels.of(rule), Level::Error);
        levels.set("icon/*", LevelSetting::Allow).unwrap();
        assert_eq!(levels.of(rule), Level::Allow);
        levels.set("icon/comment", LevelSetting::Deny).unwrap();
        assert_eq!(levels.of(rule), Level::Error);
        let error = levels.set("icon/coment", LevelSetting::Warn).unwrap_err();
        assert_eq!(error.suggestion, Some("icon/comment"));
        assert_eq!(UnknownRule::new("size").suggestion, Some("icon/size"));
        assert_eq!(UnknownRule::new("warning").suggestion, Some("warnings"));
        assert!(levels.set("icons/*", LevelSetting::Warn).is_err());
        assert!(levels.set("warnings", LevelSetting::Allow).is_err());
    }

    #[test]
    fn a_level_that_somebody_set_also_holds_for_grave_findings() {
        let mut levels = Levels::default();
        let rule = find("registry/quarantine").unwrap();
        assert_eq!(levels.of_grave(rule), Level::Error);
        levels.set(rule.name, LevelSetting::Warn).unwrap();
        assert_eq!(levels.of_grave(rule), Level::Warning);
    }
}
