//! Groups similar messages about many agents, so that each group is shown once.

use std::collections::BTreeMap;

use acp_registry::text::printable;

/// The largest group whose messages are all shown.
const SINGLE: usize = 3;

/// How many agents of a group are listed by name.
const NAMES: usize = 10;

/// A message to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shown {
    /// Its index in the list of messages.
    pub(crate) at: usize,
    /// The other agents of its group, if the message represents one. Printable.
    pub(crate) others: Option<String>,
}

/// Chooses which messages to show, from pairs of agent id and message. Messages that differ only in the id, the version
/// after it, quoted names and URLs form a group: a broken network is one problem, not one per agent. A group of more than
/// three messages is represented by its first.
pub(crate) fn alike(messages: &[(&str, String)]) -> Vec<Shown> {
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, (id, message)) in messages.iter().enumerate() {
        groups.entry(without_names(message, id)).or_default().push(at);
    }
    let mut shown = Vec::new();
    for group in groups.into_values() {
        if group.len() <= SINGLE {
            shown.extend(group.into_iter().map(|at| Shown { at, others: None }));
            continue;
        }
        let names: Vec<&str> = group[1..].iter().take(NAMES).map(|at| messages[*at].0).collect();
        let more = if group.len() - 1 > NAMES { ", …" } else { "" };
        let others = format!("and {} more: {}{more}", group.len() - 1, printable(&names.join(", ")));
        shown.push(Shown { at: group[0], others: Some(others) });
    }
    shown.sort_by_key(|shown| shown.at);
    shown
}

/// The message without the words that depend on the agent: the id, the version after it, quoted names and URLs.
fn without_names(message: &str, id: &str) -> String {
    let unquoted = message.split('`').step_by(2).collect::<Vec<_>>().join("`");
    let mut out = Vec::new();
    let mut is_behind_id = false;
    for word in unquoted.split_whitespace() {
        let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_version = is_behind_id && bare.starts_with(|c: char| c.is_ascii_digit());
        is_behind_id = bare == id;
        if is_behind_id || is_version || word.contains("://") {
            continue;
        }
        out.push(word);
    }
    out.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_three_equal_messages_are_one_with_a_count() {
        let message = |id: &str| format!("{id} 1.0.0 cannot be fetched: https://h.example/{id}.zip: no such host");
        let ids = ["a-b", "c", "d", "e"];
        let mut messages: Vec<(&str, String)> = ids.iter().map(|id| (*id, message(id))).collect();
        messages.insert(1, ("x", "x needs Node.js 20".to_owned()));
        let shown = alike(&messages);
        let places: Vec<usize> = shown.iter().map(|shown| shown.at).collect();
        assert_eq!(places, [0, 1]);
        assert_eq!(shown[0].others.as_deref(), Some("and 3 more: c, d, e"));
        assert_eq!(shown[1].others, None);
        assert_eq!(alike(&messages[2..]).len(), 3);
    }

    #[test]
    fn causes_that_differ_are_not_equal() {
        let messages: Vec<(&str, String)> =
            (16..22).map(|version| ("a", format!("`a` needs Node.js {version}"))).collect();
        assert_eq!(alike(&messages).len(), 6);
        let many: Vec<(&str, String)> = std::iter::repeat_n(("a\u{1b}", "m".to_owned()), 30).collect();
        let others = alike(&many)[0].others.clone().unwrap();
        assert!(others.starts_with("and 29 more: a\\u{1b}, ") && others.ends_with(", …"), "{others}");
    }
}
