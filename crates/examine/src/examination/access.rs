//! How an agent reaches the scripted model, and what is kept from one check of it to the next: how it opens sessions, and
//! which are open.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use tokio::time::Instant;

use super::exchange::Part;
use super::failure::{CheckFailure, not_exercised};
use super::messages::{ResponseContent, RpcError};
use crate::model::Model;

/// How one agent reaches the scripted model, if neither `providers/set` nor the usual variables lead it there:
/// `[examine.ID]` in `registry.toml`. In all texts, `$MODEL` stands for the base URL of the model, without a slash at
/// the end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Recipe {
    /// Environment variables of the agent.
    pub env: BTreeMap<String, String>,
    /// Files to create, by their path relative to the agent's private home.
    pub files: BTreeMap<String, String>,
    /// Arguments to add to the agent's own.
    pub args: Vec<String>,
    /// The id of the authentication method to use before the first session.
    pub auth: Option<String>,
    /// The id of the mode in which turns are carried out, if it is not the agent's default one.
    pub mode: Option<String>,
    /// Whether the handshake needs the recipe too, because the agent does not start without.
    pub handshake: bool,
}

impl Recipe {
    /// The variables and files with the base URL of the model filled in.
    #[must_use]
    pub fn with_model(&self, base: &str) -> Self {
        let fill = |text: &String| text.replace("$MODEL", base);
        let fill_values =
            |texts: &BTreeMap<String, String>| texts.iter().map(|(name, text)| (name.clone(), fill(text))).collect();
        Self {
            env: fill_values(&self.env),
            files: fill_values(&self.files),
            args: self.args.iter().map(fill).collect(),
            ..self.clone()
        }
    }
}

/// How an agent opens sessions. What is learned with one instance is used for the next.
#[derive(Debug, Clone, Default)]
pub(super) struct Access {
    /// The scripted model.
    pub(super) model: Option<Arc<Model>>,
    /// The authentication method to use before the first session.
    pub(super) sign_in: Option<String>,
    /// The mode in which turns are carried out, if it is not the default one.
    pub(super) mode: Option<String>,
    /// Why the agent opens no session.
    pub(super) closed: Option<String>,
    /// Why no turn ends, if one was tried in vain.
    pub(super) turnless: Option<String>,
    /// Why no turn can be carried out.
    pub(super) unled: Option<String>,
    /// Whether a turn has reached the model.
    pub(super) is_led: bool,
    /// Number of requests for a session that were not answered.
    pub(super) silent: usize,
    /// Whether this instance has been prepared.
    pub(super) is_prepared: bool,
}

impl Access {
    /// For the first instance, as the recipe of the agent wants it.
    pub(super) fn new(recipe: &Recipe) -> Self {
        Self { sign_in: recipe.auth.clone(), mode: recipe.mode.clone(), ..Self::default() }
    }

    /// What applies to a new instance too.
    pub(super) fn for_next(&self) -> Self {
        Self { is_prepared: false, ..self.clone() }
    }

    /// Adds what an instance has learned. Other instances may have learned more in the meantime.
    pub(super) fn learn(&mut self, of: &Self) {
        self.is_led |= of.is_led;
        self.silent = self.silent.max(of.silent);
        let known = |ours: &mut Option<String>, new: &Option<String>| {
            if ours.is_none() {
                ours.clone_from(new);
            }
        };
        known(&mut self.sign_in, &of.sign_in);
        known(&mut self.closed, &of.closed);
        known(&mut self.turnless, &of.turnless);
        known(&mut self.unled, &of.unled);
        if self.is_led {
            self.unled = None;
        }
    }
}

/// The code of JSON-RPC for a method that does not exist.
pub(super) const METHOD_NOT_FOUND: i64 = -32_601;

/// An open session.
#[derive(Debug, Clone)]
pub(super) struct OpenSession {
    pub(super) id: String,
    /// The result of `session/new`.
    pub(super) result: Value,
}

impl OpenSession {
    /// The agent refuses a request for this session, which has had no prompt. The id, which differs between runs, is left
    /// out. That there is no such method is no question of the session.
    pub(super) fn refused_before_prompt(&self, method: &str, refusal: &RpcError) -> CheckFailure {
        let error = refusal.to_string().replace(&self.id, "$SESSION");
        if refusal.code == Some(METHOD_NOT_FOUND) {
            return CheckFailure::Fail(format!("advertises `{method}`, and answers it with {error}"));
        }
        CheckFailure::NotExercised(format!("the agent answers `{method}` before the first prompt with {error}"))
    }
}

/// What the checks of an instance share, because agents take a while to open a session.
#[derive(Debug, Default)]
pub(super) struct SharedSession {
    /// A session that no check may change, and when it was opened.
    pub(super) session: Option<(OpenSession, Instant)>,
    /// A session that checks change and put back.
    pub(super) changing: Option<OpenSession>,
    /// Sessions that checks have opened and not changed, or only by turns.
    pub(super) spare: Vec<OpenSession>,
    /// The MCP server of a session.
    pub(super) mcp: Option<McpServer>,
    /// How a cancelled turn ended, and its messages.
    pub(super) cancelled: Option<(Cancelled, Vec<Part>)>,
    /// How a turn ended that was cancelled while its command ran, and its messages.
    pub(super) interrupted: Option<(Interrupted, Vec<Part>)>,
    /// Whether the agent does not list a session before its first prompt.
    pub(super) is_unlisted: bool,
}

impl SharedSession {
    /// Forgets what may be unusable, or only true for a moment, after a check has failed.
    pub(super) fn forget(&mut self) {
        self.changing = None;
        self.spare.clear();
        self.is_unlisted = false;
    }
}

/// How a cancelled turn ended.
#[derive(Debug, Clone)]
pub(super) struct Cancelled {
    pub(super) session: OpenSession,
    pub(super) ended: Result<ResponseContent, CheckFailure>,
    /// The kind of the first update about the turn after its response, quoted.
    pub(super) late: Option<String>,
    /// Whether the agent has closed the connection to the model, which never ends its answer.
    pub(super) is_aborted: bool,
}

impl Cancelled {
    /// Ends the check with `NotExercised` if the turn did not end as cancelled, which is the matter of another check.
    pub(super) fn needs_end(&self) -> Result<(), CheckFailure> {
        match &self.ended {
            _ if self.is_cancelled() => Ok(()),
            Err(unknown @ (CheckFailure::NotExercised(_) | CheckFailure::Unjudged(_))) => Err(unknown.clone()),
            _ => not_exercised("the agent does not end the turn as cancelled"),
        }
    }

    /// Whether the turn ended as the protocol demands.
    pub(super) fn is_cancelled(&self) -> bool {
        matches!(&self.ended, Ok(Ok(result)) if result["stopReason"] == "cancelled")
    }
}

/// How a turn ended that was cancelled while its command ran.
#[derive(Debug, Clone)]
pub(super) struct Interrupted {
    pub(super) ended: Result<ResponseContent, CheckFailure>,
    /// Whether the command ran on afterwards.
    pub(super) runs_on: bool,
}

/// Where an MCP server records what it receives.
#[derive(Debug, Clone)]
pub(super) enum McpRecord {
    /// In a file, if the agent starts it.
    File(PathBuf),
    /// In memory under this number, if it is served over HTTP.
    Served(u64),
}

/// An MCP server, with a record of its own.
#[derive(Debug, Clone)]
pub(super) struct McpServer {
    pub(super) record: McpRecord,
    /// The element of `mcpServers`.
    pub(super) params: Value,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_the_model_is_filled_in_everywhere_but_in_names() {
        let text = |text: &str| text.to_owned();
        let recipe = Recipe {
            env: [(text("A_URL"), text("$MODEL/v1"))].into(),
            files: [(text(".config/$MODEL.json"), text("{\"url\":\"$MODEL\",\"again\":\"$MODEL\"}"))].into(),
            args: vec![text("--url=$MODEL")],
            auth: Some(text("key")),
            mode: None,
            handshake: false,
        };
        let filled = recipe.with_model("http://127.0.0.1:1");
        assert_eq!(filled.env["A_URL"], "http://127.0.0.1:1/v1");
        let file = "{\"url\":\"http://127.0.0.1:1\",\"again\":\"http://127.0.0.1:1\"}";
        assert_eq!(filled.files[".config/$MODEL.json"], file);
        assert_eq!((filled.args, filled.auth), (vec![text("--url=http://127.0.0.1:1")], recipe.auth));
    }
}
