//! Signs in to and out of an installed agent.

use std::ffi::OsString;
use std::fs::File;
use std::time::Duration;

use acp_registry_host::fs::temporary;
use acp_registry_host::process::{Environment, Home, Isolation, LaunchSpec};
use acp_registry_host::start::Program;
use acp_registry_plan::failure::Failure;
use acp_registry_plan::text::{brief_list, escape, printable, quote, suggestions};
use acp_registry_protocol::handshake::{
    AuthMethod, Conversation, FailReason, Handshake, HandshakeOptions, Listener, OpenError, Outcome, Probe, Way,
};
use serde::{Deserialize, Serialize};

use super::{Event, Events, Report, Starting, check_revoked_installed, limit, unremoved};
use crate::doctor;
use crate::install::Start;
use crate::login::{SignInResult, SignInStatus, in_terminal};
use crate::session::{AgentSpec, Session};
use crate::store::Version;

/// The default time limit for signing in or out.
pub const SIGN_IN_TIMEOUT: Duration = Duration::from_mins(10);

/// The most methods that are named.
const METHODS: usize = 20;

/// How to sign in.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignIn {
    /// The agent.
    pub agent: AgentSpec,
    /// The agent's name for a method; it may be left out if there is one only.
    pub method: Option<String>,
    /// How long signing in may take.
    #[serde(default, rename = "timeout_seconds", deserialize_with = "limit")]
    pub timeout: Option<Duration>,
}

/// An agent to sign out of, or whose methods are asked for.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignOut {
    /// The agent.
    pub agent: AgentSpec,
    /// How long the agent may take.
    #[serde(default, rename = "timeout_seconds", deserialize_with = "limit")]
    pub timeout: Option<Duration>,
}

/// Relays between the agent and the person while it signs the person in.
pub trait Relay: Sync {
    /// Receives the lines that the agent writes to stderr.
    fn listener(&self) -> Listener;

    /// Lines are shown from now on, and what the person types is sent.
    fn begin(&self, conversation: &Conversation);

    /// Lines are not shown any more.
    fn end(&self);
}

/// The result of signing in or out.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct SignInReport {
    /// The result.
    #[serde(flatten)]
    pub result: SignInResult,
    #[serde(skip)]
    command: &'static str,
}

impl Report for SignInReport {
    fn command(&self) -> &'static str {
        self.command
    }

    fn failure(&self) -> Option<Failure> {
        let SignInResult { status, message, help, .. } = &self.result;
        (*status == SignInStatus::Failed).then(|| Failure::findings(message).help_if(help.as_deref()))
    }
}

/// The methods of an agent.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct MethodsReport {
    /// The agent.
    pub id: String,
    /// The methods that it offers.
    pub methods: Vec<AuthMethod>,
    /// Why they are listed, if one of them had to be named.
    #[serde(skip)]
    failure: Option<Failure>,
}

impl Report for MethodsReport {
    fn command(&self) -> &'static str {
        "login"
    }

    fn failure(&self) -> Option<Failure> {
        self.failure.clone()
    }
}

impl MethodsReport {
    /// One of the methods must be named.
    #[must_use]
    pub fn to_choose(id: &str, methods: Vec<AuthMethod>) -> Self {
        let message = format!("{} can be signed in to in several ways: {}", quote(id), list(&methods));
        let failure = Failure::usage(message).help("name one with --method").suggest(names(&methods));
        Self { id: id.to_owned(), methods, failure: Some(failure) }
    }
}

/// The next step of an attempt.
#[derive(Debug)]
pub enum Step {
    /// The attempt has ended.
    Done(Box<SignInReport>),
    /// A method must be chosen.
    Ask(Vec<AuthMethod>),
    /// The agent's program must run in the terminal, after which [`Attempt::confirm`] follows.
    Terminal(Box<SignInResult>, Program),
}

/// An agent to sign in to or out of.
pub struct Attempt<'a> {
    version: Version,
    /// Marks the version as running, so that it is not removed.
    _mark: Option<File>,
    start: Start,
    /// The variables of the manifest that are passed to the agent.
    variables: Vec<(OsString, OsString)>,
    /// The environment that `run` would start the agent with.
    environment: Environment,
    options: HandshakeOptions,
    limit: Duration,
    relay: &'a dyn Relay,
    events: &'a Events<'a>,
}

impl<'a> Attempt<'a> {
    /// Begins an attempt, with a limit of time for it.
    ///
    /// # Errors
    /// [`Failure`] when the agent is not installed in this version, or damaged.
    pub fn new(
        session: &Session,
        named: &AgentSpec,
        timeout: Option<Duration>,
        relay: &'a dyn Relay,
        events: &'a Events<'a>,
    ) -> Result<Self, Failure> {
        let (version, _) = session.whole(named)?;
        check_revoked_installed(session, &version, events)?;
        let mark = version.mark_used();
        let start = session.find_start(&version)?;
        let mut options = HandshakeOptions::new(temporary());
        options.home = Home::Persons;
        options.timeout = timeout.unwrap_or(options.timeout);
        let variables = session.variables(&start);
        let mut environment = Environment::for_person(session.options().variables.iter().cloned());
        for (name, value) in &variables {
            environment.set(name, value);
        }
        let limit = timeout.unwrap_or(SIGN_IN_TIMEOUT);
        Ok(Self { version, _mark: mark, start, variables, environment, options, limit, relay, events })
    }

    fn result(&self) -> SignInResult {
        SignInResult::new(&self.version.receipt.id, &self.version.receipt.version)
    }

    /// Starts the agent as `run` does, except for its working directory. `None` if no connection could be opened.
    async fn open(&self, result: &mut SignInResult) -> Result<Option<Conversation>, Failure> {
        let launch = LaunchSpec {
            program: self.start.program.clone().into(),
            arguments: self.start.args.iter().map(Into::into).collect(),
            directory: None,
            environment: self.environment.clone(),
            isolation: Isolation::Environment,
            readable: Vec::new(),
            // Resource limits do not apply in the user's home directory.
            launcher: None,
            namespace: None,
        };
        let _starting = Starting::report(&self.version.receipt.id, self.options.timeout, self.events);
        match Conversation::open(&launch, &self.options, Some(self.relay.listener())).await {
            Ok(conversation) => Ok(Some(conversation)),
            Err(OpenError::Setup(error)) => Err(error.into()),
            Err(OpenError::Agent(outcome)) => {
                let check = doctor::explain(&outcome, &self.version.receipt.id);
                // What keeps the system from starting it is told as `run` does.
                let obstacle = || doctor::obstacle(&self.version, &self.environment);
                let known = outcome.reason.filter(|reason| *reason == FailReason::SpawnFailed).and_then(|_| obstacle());
                let (message, help) = known.unwrap_or_else(|| (check.message, check.help.unwrap_or_default()));
                let reason = outcome.reason.map_or("agent_error", FailReason::as_str);
                result.fail(reason, message, help);
                self.note(*outcome, result);
                Ok(None)
            }
        }
    }

    async fn close(&self, conversation: Conversation, result: &mut SignInResult) {
        self.relay.end();
        self.note(conversation.close().await, result);
    }

    fn note(&self, outcome: Outcome, result: &mut SignInResult) {
        if let Some(error) = &outcome.left {
            (self.events)(Event::Warning(&unremoved(error)));
        }
        result.stderr_tail = outcome.stderr_tail;
        result.hide_secrets(|name| self.environment.get(name)?.to_str());
    }

    /// Asks the agent for its methods.
    ///
    /// # Errors
    /// [`Failure`] when no connection can be opened.
    pub async fn methods(&self) -> Result<MethodsReport, Failure> {
        let mut result = self.result();
        let Some(conversation) = self.open(&mut result).await? else {
            return Err(Failure::findings(&result.message).help_if(result.help.as_deref()));
        };
        let methods = conversation.handshake().auth_methods.clone();
        self.close(conversation, &mut result).await;
        Ok(MethodsReport { id: result.id, methods, failure: None })
    }

    /// Chooses the method, and carries it out unless it needs a terminal.
    ///
    /// # Errors
    /// [`Failure`] when there is no such method, or the directory for the handshake cannot be made.
    pub async fn sign_in(&self, wanted: Option<&str>) -> Result<Step, Failure> {
        let mut result = self.result();
        let done = |result: SignInResult| Step::Done(SignInReport { result, command: "login" }.into());
        let Some(mut conversation) = self.open(&mut result).await? else { return Ok(done(result)) };
        let method = match pick(conversation.handshake(), wanted)? {
            [] => {
                result.look(&mut conversation, self.limit).await;
                self.close(conversation, &mut result).await;
                result.message = format!("it names no way to sign in; {}", result.message);
                return Ok(done(result));
            }
            [method] => method.clone(),
            methods => {
                let methods = methods.to_vec();
                self.close(conversation, &mut result).await;
                return Ok(Step::Ask(methods));
            }
        };
        result.method = Some(method.clone());
        let way = method.way();
        if matches!(way, Ok(Way::Agent | Way::Terminal(_))) {
            match result.look_before(&mut conversation, self.limit).await {
                None | Some(Probe::Ok | Probe::AuthRequired) => {}
                // It may have ended, or still be busy with the request.
                Some(_) => {
                    self.close(conversation, &mut result).await;
                    let Some(again) = self.open(&mut result).await? else { return Ok(done(result)) };
                    conversation = again;
                }
            }
        }
        match way {
            Ok(Way::Agent) => {
                (self.events)(Event::Text(&format!(
                    "signing in to {} by {}: if it opens a browser, finish there; if it asks \
                     here, answer (at most {} s; Ctrl-C gives up)\n",
                    quote(&result.id),
                    quote(&method.id),
                    self.limit.as_secs_f64()
                )));
                self.relay.begin(&conversation);
                result.sign_in(&mut conversation, &method, self.limit).await;
            }
            Ok(Way::Variables { variables, left_out, link }) => {
                for name in &left_out {
                    let (method, name) = (quote(&method.id), quote(name));
                    (self.events)(Event::Warning(&format!(
                        "{method} also offers to set {name}, which belongs to the system or to another program: do not \
                         set it for an agent"
                    )));
                }
                let is_set = |name: &str| self.environment.get(name).is_some_and(|value| !value.is_empty());
                if result.ask_for_variables(variables, link, is_set) {
                    result.sign_in(&mut conversation, &method, self.limit).await;
                }
            }
            Ok(Way::Terminal(way)) => match in_terminal(&self.version, self.start.clone(), way) {
                Ok(start) => {
                    self.close(conversation, &mut result).await;
                    return Ok(Step::Terminal(result.into(), self.program(start)));
                }
                Err(error) => {
                    let help = "if you trust it, start it yourself; then `acp-registry run` finds what it has left";
                    result.fail("other_program", printable(&error.to_string()), help);
                }
            },
            Err(error) => {
                let help = "try another of its methods, or update it";
                result.fail("method_refused", printable(&error.to_string()), help);
            }
        }
        self.close(conversation, &mut result).await;
        Ok(done(result))
    }

    /// The agent's program with what the method adds to it.
    fn program(&self, start: Start) -> Program {
        let mut variables = self.variables.clone();
        let more = start.env.iter().filter(|pair| !self.start.env.contains(pair));
        variables.extend(more.map(|(name, value)| (name.into(), value.into())));
        let arguments = start.args.into_iter().map(Into::into).collect();
        Program { path: start.program, variables, arguments, hidden: Vec::new(), keep_open: None }
    }

    /// The failure for a program that needs a terminal, where there is none.
    #[must_use]
    pub fn needs_terminal(result: &SignInResult) -> Failure {
        let method = result.method.as_ref().map(|method| method.id.as_str()).unwrap_or_default();
        let message =
            format!("{} signs in to {} in a terminal, and stdin is not one", quote(method), quote(&result.id));
        let (id, method) = (escape(&result.id), escape(method));
        Failure::usage(message).help(format!("run `acp-registry login {id} --method {method}` in a terminal"))
    }

    /// Opens a session to see whether the program in the terminal has signed the person in. `failed` says how it ended,
    /// unless it succeeded.
    ///
    /// # Errors
    /// [`Failure`] when the directory for the handshake cannot be made.
    pub async fn confirm(&self, mut result: SignInResult, failed: Option<&str>) -> Result<SignInReport, Failure> {
        if let Some(failed) = failed {
            let message = format!("its program ended with {failed} in the terminal");
            result.fail("exited", message, "what it wrote there may say why; try again");
        } else if let Some(mut conversation) = self.open(&mut result).await? {
            result.look(&mut conversation, self.limit).await;
            self.close(conversation, &mut result).await;
        }
        Ok(SignInReport { result, command: "login" })
    }

    /// Signs the person out.
    ///
    /// # Errors
    /// [`Failure`] when the directory for the handshake cannot be made.
    pub async fn sign_out(&self) -> Result<SignInReport, Failure> {
        let mut result = self.result();
        if let Some(mut conversation) = self.open(&mut result).await? {
            result.sign_out(&mut conversation, self.limit).await;
            self.close(conversation, &mut result).await;
        }
        Ok(SignInReport { result, command: "logout" })
    }
}

/// The ids of methods, up to the number that is named.
fn names(methods: &[AuthMethod]) -> impl Iterator<Item = &str> {
    methods.iter().take(METHODS).map(|method| method.id.as_str())
}

/// Lists methods by id. Printable.
fn list(methods: &[AuthMethod]) -> String {
    if methods.is_empty() {
        return "none".to_owned();
    }
    brief_list(methods.iter().map(|method| format!("{} ({})", quote(&method.id), escape(&method.kind))), METHODS)
}

/// The methods to choose from: all, or the one that is wanted.
fn pick<'a>(handshake: &'a Handshake, wanted: Option<&str>) -> Result<&'a [AuthMethod], Failure> {
    let methods = &handshake.auth_methods;
    let Some(wanted) = wanted else { return Ok(methods) };
    if let Some(method) = methods.iter().find(|method| method.id == wanted) {
        return Ok(std::slice::from_ref(method));
    }
    if methods.is_empty() {
        let failure = Failure::usage("the agent offers no method to sign in");
        return Err(failure.help("leave out --method, to see whether a session opens without"));
    }
    let near = suggestions(wanted, names(methods));
    let failure = Failure::usage(format!("there is no method {}; there is {}", quote(wanted), list(methods)));
    Err(match (near.is_empty(), &methods[..]) {
        (true, [only]) => {
            let help = format!("run it with `--method {}`", escape(&only.id));
            failure.help(help).suggest([only.id.as_str()])
        }
        (true, [_, ..]) => failure.help("name one with --method").suggest(names(methods)),
        _ => failure.suggest(near),
    })
}
