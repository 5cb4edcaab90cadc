//! SIGN IN: signs a person in by an authentication method, checks that the agent opens a session, and signs out.
//!
//! * [`SignInResult`]: its result, with its JSON form
//! * [`SignInResult::sign_in`], [`SignInResult::sign_out`], [`SignInResult::look`]: the requests to an agent in a conversation
//! * `SignInResult::ask_for_variables`: which variables the person sets
//! * `in_terminal`: how the agent's program is started in a terminal
//!
//! Everything that an agent says is checked by [`way`](acp_registry_protocol::handshake::AuthMethod::way) before it
//! comes here.

use std::path::Path;
use std::time::Duration;

use acp_registry_plan::text::{printable, quote};
use acp_registry_protocol::handshake::{AuthMethod, Conversation, Probe, RequestResult, TerminalWay, Variable};
use serde::Serialize;
use url::Url;

use crate::install::Start;
use crate::store::{self, Version};

/// The method names a program other than the agent's own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the method wants another program than the agent's own to be started: {}", shown(command))]
pub struct Stranger {
    command: String,
}

/// The whole command line, for a person to run.
fn shown(command: &str) -> String {
    let cut: String = command.chars().take(1000).collect();
    printable(&cut).into_owned()
}

/// How the agent's program is started to sign the person in: with its usual arguments and variables, then those of the
/// method.
///
/// A method below `_meta` names a whole command line. It is accepted only if its program is the agent's own; its
/// arguments then replace the usual ones. The program that is started is always the installed one.
///
/// # Errors
/// [`Stranger`]
pub(crate) fn in_terminal(version: &Version, start: Start, way: TerminalWay) -> Result<Start, Stranger> {
    let Start { program, mut args, mut env, beside } = start;
    let TerminalWay { command, args: mut more, env: variables } = way;
    if let Some(command) = command {
        let own = version.program();
        // The arguments of the interpreter, which come before those of the manifest.
        let usual = args.len().saturating_sub(version.receipt.source.arguments().len());
        let is_interpreter = usual > 0 && (is_same(&command, &program) || is_named(&command, &program));
        if is_interpreter && more.first().is_some_and(|file| is_same(file, &own)) {
            more.remove(0);
        } else if !is_same(&command, &own) && !names_file(&command, &own) {
            let command = [command].into_iter().chain(more).collect::<Vec<_>>().join(" ");
            return Err(Stranger { command });
        }
        args.truncate(usual);
    }
    args.extend(more);
    env.retain(|(name, _)| variables.iter().all(|(other, _)| other != name));
    env.extend(variables);
    Ok(Start { program, args, env, beside })
}

/// Whether a path leads to this file.
fn is_same(path: &str, file: &Path) -> bool {
    let path = Path::new(path);
    path.is_absolute() && store::is_same(path, file)
}

/// Whether a path, which may exist on its author's machine only, ends with the name of this file.
fn is_named(path: &str, file: &Path) -> bool {
    Path::new(path).file_name().is_some_and(|name| Some(name) == file.file_name())
}

/// Whether a name without folders is that of this file, with or without its ending.
fn names_file(name: &str, file: &Path) -> bool {
    let names = [file.file_name(), file.file_stem()];
    Path::new(name).components().count() == 1 && names.contains(&Some(name.as_ref()))
}

/// A remedy, and another method if the agent has one.
fn or_another(help: &str, conversation: &Conversation) -> String {
    let has_others = conversation.handshake().auth_methods.len() > 1;
    if has_others { format!("{help}; or try another of its methods") } else { help.to_owned() }
}

/// The shortest secret that is hidden, in bytes: shorter ones are parts of many words.
const SHORTEST: usize = 4;

/// How long an agent may take to open a session, unless there is less time for everything.
const SESSION: Duration = Duration::from_mins(1);

/// Its state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SignInStatus {
    /// The agent can be used.
    SignedIn,
    /// It is not known whether the agent can be used.
    Unconfirmed,
    /// The agent says that the person is signed out.
    SignedOut,
    /// The attempt failed.
    #[default]
    Failed,
}

/// A variable that the person sets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Needed {
    /// The method's description of it.
    #[serde(flatten)]
    pub variable: Variable,
    /// Whether the agent gets a value for it now. The value is not shown.
    #[serde(rename = "set")]
    pub is_set: bool,
}

/// The result of signing in or out.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct SignInResult {
    /// The agent.
    pub id: String,
    /// Its version.
    pub version: String,
    /// Its state now.
    pub status: SignInStatus,
    /// Why it failed, as a word that does not change between versions.
    pub reason: Option<&'static str>,
    /// The same as a sentence. Printable.
    pub message: String,
    /// What to do about it. Printable.
    pub help: Option<String>,
    /// The method that was used.
    pub method: Option<AuthMethod>,
    /// The variables that it wants.
    pub variables: Vec<Needed>,
    /// Where to get their values.
    pub link: Option<String>,
    /// What the agent answers to `session/new`, if it was asked.
    pub session: Option<Probe>,
    /// The end of what it wrote to stderr, as it was written: escape it before it is shown.
    pub stderr_tail: String,
    /// Whether the agent opened a session before the attempt.
    #[serde(skip)]
    was_open: bool,
}

impl SignInResult {
    /// Nothing has been done yet.
    #[must_use]
    pub fn new(id: &str, version: &str) -> Self {
        Self { id: id.to_owned(), version: version.to_owned(), ..Self::default() }
    }

    /// It has failed. `message` and `help` must be printable.
    pub fn fail(&mut self, reason: &'static str, message: impl Into<String>, help: impl Into<String>) {
        self.status = SignInStatus::Failed;
        self.reason = Some(reason);
        self.message = message.into();
        self.help = Some(help.into());
    }

    /// Takes the values of secret variables out of what the agent has said.
    pub(crate) fn hide_secrets<'a>(&mut self, value: impl Fn(&str) -> Option<&'a str>) {
        let secrets = self.variables.iter().filter(|needed| needed.variable.is_secret);
        let values: Vec<String> =
            secrets.filter_map(|needed| value(&needed.variable.name)).map(ToOwned::to_owned).collect();
        for value in values.iter().filter(|value| value.len() >= SHORTEST) {
            for text in [Some(&mut self.message), self.help.as_mut(), Some(&mut self.stderr_tail)].into_iter().flatten()
            {
                *text = text.replace(value.as_str(), "…").replace(&*printable(value), "…");
            }
        }
    }

    /// Notes which variables the person sets. Returns whether all required ones have a value.
    pub(crate) fn ask_for_variables(
        &mut self,
        variables: Vec<Variable>,
        link: Option<Url>,
        is_set: impl Fn(&str) -> bool,
    ) -> bool {
        let needed = variables.into_iter().map(|variable| Needed { is_set: is_set(&variable.name), variable });
        self.variables = needed.collect();
        self.link = link.map(String::from);
        let missing = self.variables.iter().filter(|needed| !needed.is_set && !needed.variable.is_optional);
        let missing: Vec<String> = missing.map(|needed| quote(&needed.variable.name)).collect();
        if missing.is_empty() {
            return true;
        }
        let help = "set them where the agent is started, say in the settings of your shell or editor, and try again";
        self.fail("variables_missing", format!("it wants variables that are not set: {}", missing.join(", ")), help);
        false
    }

    /// Asks the agent to sign the person in by a method, and then for a session. `limit` is for each request.
    pub async fn sign_in(&mut self, conversation: &mut Conversation, method: &AuthMethod, limit: Duration) {
        self.method = Some(method.clone());
        let reply = conversation.authenticate(&method.id, limit).await;
        match reply.probe {
            // An agent that needs no such request may still be ready.
            Probe::Ok | Probe::MethodNotFound => {
                self.look(conversation, limit).await;
                // Values of variables are used with the first prompt.
                if self.variables.iter().any(|needed| needed.is_set) {
                    self.doubt("it opens a session, which does not show that it accepts the values");
                } else if method.kind == "env_var" {
                    self.doubt("it opens a session, although none of the variables is set");
                } else if reply.probe == Probe::MethodNotFound {
                    self.doubt("it opens a session, but does not know the request to sign in");
                }
            }
            Probe::Timeout => {
                let help = "try again, and finish sooner; or give it more time with --timeout";
                self.fail("timeout", reply_text(&reply), help);
            }
            Probe::AuthRequired
            | Probe::InvalidParams
            | Probe::ResourceNotFound
            | Probe::RequestCancelled
            | Probe::Error => {
                self.fail(
                    "refused",
                    reply_text(&reply),
                    or_another("what it wrote to stderr may say why", conversation),
                );
            }
        }
        if reply.probe == Probe::MethodNotFound && self.status == SignInStatus::Failed {
            let help = or_another("update it", conversation);
            self.fail("method_not_found", format!("{}, although it offers the method", reply_text(&reply)), help);
        }
    }

    /// Asks the agent for a session before the person signs in: one that it opens anyway proves nothing later. Returns its
    /// answer, if it has sessions.
    pub(crate) async fn look_before(&mut self, conversation: &mut Conversation, limit: Duration) -> Option<Probe> {
        if !conversation.handshake().features.has("session") {
            return None;
        }
        let probe = conversation.new_session(limit.min(SESSION)).await.probe;
        self.was_open = probe == Probe::Ok;
        Some(probe)
    }

    /// An open session shows that the person is signed in only if signing in has opened it.
    fn doubt(&mut self, message: &str) {
        if self.session == Some(Probe::Ok) {
            self.status = SignInStatus::Unconfirmed;
            message.clone_into(&mut self.message);
            self.help = Some("the answer to a first prompt shows whether it works".into());
        }
    }

    /// Asks the agent for a session, which tells whether the person is signed in, unless it would open without that.
    pub async fn look(&mut self, conversation: &mut Conversation, limit: Duration) {
        if !conversation.handshake().features.has("session") {
            self.status = SignInStatus::Unconfirmed;
            "it has no sessions, which could show that it can be used".clone_into(&mut self.message);
            return;
        }
        let reply = conversation.new_session(limit.min(SESSION)).await;
        self.session = Some(reply.probe);
        match reply.probe {
            Probe::Ok => {
                self.status = SignInStatus::SignedIn;
                "it opens a session".clone_into(&mut self.message);
                if self.method.is_none() {
                    self.doubt("it opens a session");
                } else if self.was_open {
                    self.doubt("it opens a session, as it did before: that does not show whether you are signed in");
                }
            }
            Probe::AuthRequired => {
                let own = reply.message.as_deref().map(|own| format!(": {own}")).unwrap_or_default();
                let message = format!("it still wants you to sign in before it opens a session{own}");
                self.fail("auth_required", message, or_another("do what it says", conversation));
            }
            _ => {
                let message = format!("it is not known whether it has worked: {}", reply_text(&reply));
                self.fail(
                    "session_failed",
                    message,
                    "what it wrote to stderr may say why; or see `acp-registry doctor`",
                );
            }
        }
    }

    /// Asks the agent to sign the person out, and then for a session, which it should refuse. `limit` is for each
    /// request.
    pub async fn sign_out(&mut self, conversation: &mut Conversation, limit: Duration) {
        let features = &conversation.handshake().features;
        let has_sessions = features.has("session");
        if !features.has("auth/logout") {
            let help =
                "its own documentation may say how; `acp-registry uninstall` does not remove what it keeps elsewhere";
            return self.fail("not_offered", "it does not offer to sign out", help);
        }
        let reply = conversation.log_out(limit).await;
        if reply.probe != Probe::Ok {
            let reason = if reply.probe == Probe::Timeout { "timeout" } else { "refused" };
            return self.fail(reason, reply_text(&reply), "what it wrote to stderr may say why");
        }
        self.status = SignInStatus::SignedOut;
        "it says so".clone_into(&mut self.message);
        if has_sessions {
            let reply = conversation.new_session(limit.min(SESSION)).await;
            self.session = Some(reply.probe);
            match reply.probe {
                Probe::AuthRequired => "it opens no session without signing in".clone_into(&mut self.message),
                Probe::Ok => {
                    "it says so, but goes on opening sessions".clone_into(&mut self.message);
                    self.help = Some("it may need no signing in, or find a key in your variables".into());
                }
                _ => {}
            }
        }
    }
}

fn reply_text(reply: &RequestResult) -> String {
    reply.message.clone().unwrap_or_default()
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::fs;

    fn way(command: Option<&str>, args: &[&str]) -> TerminalWay {
        TerminalWay {
            command: command.map(ToOwned::to_owned),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: vec![("EXAMPLE".to_owned(), "2".to_owned())],
        }
    }

    /// What is started for a version below `folder`, with an interpreter before its file or not.
    fn start(folder: &Path, has_interpreter: bool, way: TerminalWay) -> Result<String, String> {
        let receipt = json!({
            "schema": 1, "id": "a", "version": "1", "platform": null, "program": "agent.js", "program_size": 0,
            "program_stamp": { "modified": 0, "changed": 0 },
            "source": { "npx": { "package": "p@1", "args": ["acp"], "env": {} } }, "proof": { "verified": "none" },
            "index_sha256": null, "installed_at": "", "size": 0, "remarks": {},
        });
        let receipt = serde_json::from_value(receipt).unwrap();
        let version = Version { directory: folder.to_owned(), receipt };
        let own = version.program().to_str().unwrap().to_owned();
        let env = vec![("EXAMPLE".to_owned(), "1".to_owned()), ("OTHER".to_owned(), "1".to_owned())];
        let launch = if has_interpreter {
            Start {
                program: "/opt/node".into(),
                args: vec!["--flag".into(), own, "acp".into()],
                env,
                beside: Vec::new(),
            }
        } else {
            Start { program: own.into(), args: vec!["acp".into()], env, beside: Vec::new() }
        };
        let launch = in_terminal(&version, launch, way).map_err(|error| error.to_string())?;
        let env: Vec<String> = launch.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(env, ["OTHER=1", "EXAMPLE=2"]);
        let line = format!("{} {}", launch.program.display(), launch.args.join(" "));
        Ok(line.replace(folder.to_str().unwrap(), "$"))
    }

    #[test]
    fn arguments_come_behind_the_usual_ones() {
        let folder = Path::new("/nowhere");
        assert_eq!(start(folder, false, way(None, &["--setup"])).unwrap(), "$/agent.js acp --setup");
        assert_eq!(start(folder, true, way(None, &[])).unwrap(), "/opt/node --flag $/agent.js acp");
    }

    #[test]
    fn a_command_line_counts_as_far_as_it_names_the_agent() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let own = folder.join("agent.js");
        fs::write(&own, "").unwrap();
        fs::write(folder.join("other.js"), "").unwrap();
        let link = folder.join("link");
        std::os::unix::fs::symlink(&own, &link).unwrap();
        let (own, link, other) = (own.to_str().unwrap(), link.to_str().unwrap(), folder.join("other.js"));
        let other = other.to_str().unwrap();
        for (has_interpreter, command, args, expected) in [
            (false, own, &["login"][..], "$/agent.js login"),
            (false, link, &["login"], "$/agent.js login"),
            (false, "agent", &["auth", "login"], "$/agent.js auth login"),
            (true, "/elsewhere/bin/node", &[link, "login"], "/opt/node --flag $/agent.js login"),
            (true, own, &["login"], "/opt/node --flag $/agent.js login"),
        ] {
            assert_eq!(start(folder, has_interpreter, way(Some(command), args)).unwrap(), expected, "{command}");
        }
        for (has_interpreter, command, args) in [
            (false, "/bin/sh", &["-c", "true"][..]),
            (false, "/elsewhere/agent", &[]),
            (false, "../agent", &[]),
            (false, "node", &[own]),
            (true, "node", &[other, "login"]),
            (true, "node", &["-e", "1", own]),
            (true, "/bin/sh", &[own]),
            (false, "", &[]),
        ] {
            let error = start(folder, has_interpreter, way(Some(command), args)).unwrap_err();
            assert!(error.starts_with("the method wants another program"), "{error}");
        }
    }

    #[test]
    fn values_of_secrets_are_taken_out_of_what_an_agent_says() {
        let variable =
            |name: &str, is_secret| Variable { name: name.into(), label: None, is_secret, is_optional: false };
        let mut attempt = SignInResult::new("a", "1");
        attempt.ask_for_variables(vec![variable("KEY", true), variable("REGION", false)], None, |_| true);
        attempt.fail("refused", "the key hunter2hunter2 is bad in the-north", "");
        attempt.stderr_tail = "KEY=hunter2hunter2 REGION=the-north\n".to_owned();
        attempt.hide_secrets(|name| Some(if name == "KEY" { "hunter2hunter2" } else { "the-north" }));
        assert_eq!(attempt.message, "the key … is bad in the-north");
        assert_eq!(attempt.stderr_tail, "KEY=… REGION=the-north\n");
        attempt.hide_secrets(|_| Some("is"));
        assert_eq!(attempt.message, "the key … is bad in the-north");
    }

    #[test]
    fn only_what_is_wanted_and_has_no_value_is_missing() {
        let variable =
            |name: &str, is_optional| Variable { name: name.to_owned(), label: None, is_secret: true, is_optional };
        let mut attempt = SignInResult::new("a", "1");
        let variables = vec![variable("KEY", false), variable("OTHER", false), variable("REGION", true)];
        assert!(!attempt.ask_for_variables(variables.clone(), None, |name| name == "KEY"));
        assert_eq!((attempt.status, attempt.reason), (SignInStatus::Failed, Some("variables_missing")));
        assert_eq!(attempt.message, "it wants variables that are not set: `OTHER`");
        assert!(SignInResult::new("a", "1").ask_for_variables(variables, None, |name| name != "REGION"));
    }
}
