//! `session/list`, as checks use it.

use std::path::Path;
use std::time::Duration;

use acp_registry_plan::text::quote;
use serde_json::{Value, json};

use super::agent::StartedAgent;
use super::failure::CheckFailure;
use super::messages::ResponseContent;

/// Maximum number of pages to read.
pub(super) const PAGES: usize = 20;

/// How often to look for a session that is not listed yet, and the time in between.
const LOOKS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(300);

/// A page of `session/list`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SessionPage {
    pub(super) sessions: Vec<Value>,
    /// The cursor of the next page.
    pub(super) next: Option<String>,
}

impl SessionPage {
    /// Reads a response. The error lacks its subject, "the agent".
    fn read(answer: ResponseContent) -> Result<Self, String> {
        let result = answer.map_err(|error| format!("answers `session/list` with {error}"))?;
        let Some(sessions) = result["sessions"].as_array() else {
            return Err("answers `session/list` without an array `sessions`".to_owned());
        };
        for session in sessions {
            if session["sessionId"].as_str().is_none_or(str::is_empty) {
                return Err("lists a session without a `sessionId`".to_owned());
            }
            let directory = session["cwd"].as_str().unwrap_or_default();
            if !Path::new(directory).is_absolute() {
                return Err(format!("lists a session whose `cwd` is not an absolute path: {}", quote(directory)));
            }
        }
        let next = match &result["nextCursor"] {
            Value::Null => None,
            Value::String(cursor) => Some(cursor.clone()),
            _ => return Err("answers `session/list` with a `nextCursor` that is not a string".to_owned()),
        };
        Ok(Self { sessions: sessions.clone(), next })
    }
}

/// The session with this id.
pub(super) fn find<'a>(sessions: &'a [Value], id: &str) -> Option<&'a Value> {
    sessions.iter().find(|session| session["sessionId"] == id)
}

impl StartedAgent {
    /// Requests a page. The inner error says what is wrong with it.
    pub(super) async fn page(&mut self, params: &Value) -> Result<Result<SessionPage, String>, CheckFailure> {
        Ok(SessionPage::read(self.ask("session/list", params).await?))
    }

    /// The sessions on all pages. A check cannot run if there is a problem with one, which is a violation that other checks
    /// report.
    pub(super) async fn sessions(&mut self) -> Result<Vec<Value>, CheckFailure> {
        self.needs("/sessionCapabilities/list")?;
        let unable = |text: String| CheckFailure::NotExercised(format!("the agent {text}"));
        let mut page = self.page(&json!({})).await?.map_err(unable)?;
        let mut sessions = page.sessions;
        for _ in 1..PAGES {
            let Some(cursor) = page.next else { break };
            page = self.page(&json!({ "cursor": cursor })).await?.map_err(unable)?;
            sessions.append(&mut page.sessions);
        }
        Ok(sessions)
    }

    /// Waits for a moment until a session is listed, since agents may store it after their response.
    pub(super) async fn listed(&mut self, id: &str) -> Result<Option<Value>, CheckFailure> {
        for _ in 1..LOOKS {
            if let Some(session) = self.listed_now(id).await? {
                return Ok(Some(session));
            }
            self.read_for(PAUSE).await;
        }
        self.listed_now(id).await
    }

    /// The session with this id, if it is listed now.
    pub(super) async fn listed_now(&mut self, id: &str) -> Result<Option<Value>, CheckFailure> {
        Ok(find(&self.sessions().await?, id).cloned())
    }

    /// Like [`listed`](Self::listed), for a check that cannot run without.
    pub(super) async fn listed_or_unable(&mut self, id: &str) -> Result<Value, CheckFailure> {
        let listed = self.listed(id).await?;
        self.kept.is_unlisted = listed.is_none();
        listed.ok_or_else(unlisted)
    }

    /// Ends the check with `NotExercised` if the agent is known not to list a session before its first prompt.
    pub(super) fn needs_listed(&self) -> Result<(), CheckFailure> {
        if self.kept.is_unlisted { Err(unlisted()) } else { Ok(()) }
    }
}

fn unlisted() -> CheckFailure {
    CheckFailure::NotExercised("the agent does not list a session before its first prompt".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_read_with_care() {
        for (result, problem) in [
            (json!(null), "without an array `sessions`"),
            (json!({ "sessions": {} }), "without an array `sessions`"),
            (json!({ "sessions": [{ "cwd": "/" }] }), "a session without a `sessionId`"),
            (json!({ "sessions": [{ "sessionId": "a", "cwd": "\u{1b}" }] }), "absolute path: `\\u{1b}`"),
            (json!({ "sessions": ["a"] }), "a session without a `sessionId`"),
            (json!({ "sessions": [], "nextCursor": 2 }), "not a string"),
        ] {
            let found = SessionPage::read(Ok(result.clone())).unwrap_err();
            assert!(found.contains(problem), "{result}: {found}");
        }
        let page = SessionPage::read(Ok(json!({ "sessions": [], "nextCursor": null })));
        assert_eq!(page, Ok(SessionPage { sessions: Vec::new(), next: None }));
    }
}
