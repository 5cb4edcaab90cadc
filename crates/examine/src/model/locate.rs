//! Finds the script and the step that a request is about.

use super::conversation::{Conversation, Item};
use super::tools::is_search;

/// The start of each marker; a number follows.
pub(super) const PREFIX: &str = "acp-registry-turn-";

/// Maximum length of instructions that are searched for words, in bytes. Those of titles are short.
const INSTRUCTIONS: usize = 6000;

/// The place of a request in a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScriptPosition {
    /// The number of the script.
    pub(super) number: u64,
    /// The number of the model's turns after the marker.
    pub(super) turns: usize,
    /// The index of the item that has the marker.
    pub(super) item: usize,
}

/// The place of a conversation: the last known marker in the last text of the user that has one.
pub(super) fn locate(conversation: &Conversation, is_known: impl Fn(u64) -> bool) -> Option<ScriptPosition> {
    let items = &conversation.items;
    let (item, number) = items.iter().enumerate().rev().find_map(|(at, item)| {
        let Item::User(text) = item else { return None };
        let numbers = text.rmatch_indices(PREFIX).filter_map(|(at, _)| number(&text[at + PREFIX.len()..]));
        numbers.into_iter().find(|number| is_known(*number)).map(|number| (at, number))
    })?;
    let mut turns = 0;
    let mut was_model = false;
    for item in &items[item..] {
        let is_model = match item {
            Item::Model => true,
            // A search for a tool is no step: the script goes on with what it finds.
            Item::Call(name) => !is_search(name),
            Item::User(_) | Item::Image | Item::Result(_) => false,
        };
        turns += usize::from(is_model && !was_model);
        was_model = is_model;
    }
    Some(ScriptPosition { number, turns, item })
}

fn number(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// Whether a request without tools is for a title or a summary, so that it repeats a prompt without being its turn.
pub(super) fn is_about(conversation: &Conversation, place: ScriptPosition) -> bool {
    let text = match &conversation.items[place.item] {
        Item::User(text) => text.find(PREFIX).map_or("", |at| &text[..at]),
        _ => "",
    };
    let is_named = |text: &str| {
        let text = text.to_lowercase();
        text.len() <= INSTRUCTIONS && ["title", "summary", "summarize"].iter().any(|word| text.contains(word))
    };
    is_named(&conversation.system) || is_named(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> Item {
        Item::User(text.to_owned())
    }

    fn place(items: Vec<Item>) -> Option<(u64, usize)> {
        let conversation = Conversation { items, ..Conversation::default() };
        locate(&conversation, |number| [7, 71].contains(&number)).map(|place| (place.number, place.turns))
    }

    #[test]
    fn only_known_markers_of_the_user_count() {
        let result = Item::Result("acp-registry-turn-7".to_owned());
        assert_eq!(place(vec![user("acp-registry-turn-8 acp-registry-turn- acp-registry-turn"), result]), None);
        assert_eq!(place(vec![user(&format!("{PREFIX}99999999999999999999999"))]), None);
        assert_eq!(place(vec![]), None);
    }

    #[test]
    fn the_last_marker_counts_with_the_turns_after_it() {
        let result = || Item::Result("x".to_owned());
        assert_eq!(place(vec![user("acp-registry-turn-71.")]), Some((71, 0)));
        assert_eq!(place(vec![user("acp-registry-turn-7 acp-registry-turn-71")]), Some((71, 0)));
        let old = [user("acp-registry-turn-7"), Item::Model, user("go on: acp-registry-turn-71 (acp-registry-turn-9)")];
        // Two calls in one turn, their results, a reminder, and another turn.
        let call = |name: &str| Item::Call(name.to_owned());
        let new = [user("reminder"), call("a"), call("b"), result(), result(), user("reminder"), Item::Model];
        assert_eq!(place(old.into_iter().chain(new).collect()), Some((71, 2)));
        let searched = [user("acp-registry-turn-7"), call("ToolSearch"), result(), call("a"), result()];
        assert_eq!(place(searched.into()), Some((7, 1)));
    }

    #[test]
    fn titles_are_told_by_their_instructions() {
        let about = |system: &str, text: &str| {
            let conversation =
                Conversation { system: system.to_owned(), items: vec![user(text)], ..Conversation::default() };
            is_about(&conversation, ScriptPosition { number: 7, turns: 0, item: 0 })
        };
        assert!(about("Generate a title.", "acp-registry-turn-7") && about("", "Summarize: acp-registry-turn-7"));
        assert!(!about("You are an agent.", "acp-registry-turn-7 title"));
        assert!(!about(&format!("title{}", " ".repeat(INSTRUCTIONS)), "acp-registry-turn-7"));
    }
}
