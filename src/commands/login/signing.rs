//! Signs in to and out of an installed agent.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal as _};
use std::process::Stdio;
use std::time::Duration;

use acp_registry::doctor;
use acp_registry::handshake::{
    AuthMethod, Conversation, FailReason, Handshake, HandshakeOptions, OpenError, Outcome, Probe, Way,
};
use acp_registry::host::fs::temporary;
use acp_registry::host::process::{self, Environment, Home, Isolation};
use acp_registry::host::start::{Program, attend};
use acp_registry::login::{SignInResult, in_terminal};
use acp_registry::store::{Launch, Version};
use acp_registry::text::{escape, printable, quote, suggestions};

use crate::commands::login::relay::Relay;
use crate::commands::login::{METHODS, list};
use crate::flags::session::CommandSession;
use crate::terminal::signals;
use crate::terminal::ui::Ui;
use acp_registry::failure::Failure;

/// The default time limit for signing in or out.
const PATIENCE: Duration = Duration::from_mins(10);

/// The next step of an attempt.
pub(crate) enum Step {
    /// The attempt has ended.
    Done(Box<SignInResult>),
    /// A method must be chosen.
    Ask(Vec<AuthMethod>),
    /// The agent's program must run in the terminal.
    Terminal(Box<SignInResult>, Launch),
}

/// An agent to sign in to or out of.
pub(crate) struct SignIn<'a> {
    version: Version,
    /// Marks the version as running, so that it is not removed.
    _mark: Option<File>,
    launch: Launch,
    /// The variables of the manifest that are passed to the agent.
    variables: Vec<(OsString, OsString)>,
    options: HandshakeOptions,
    pub(crate) limit: Duration,
    /// Relays between the agent and the user.
    relay: Relay,
    ui: &'a Ui,
}

impl<'a> SignIn<'a> {
    pub(crate) fn new(
        id: &str,
        timeout: Option<Duration>,
        session: &CommandSession<'_>,
        ui: &'a Ui,
    ) -> Result<Self, Failure> {
        let version = session.agent(id)?.current;
        let mark = version.mark_used();
        let launch = session.launch(&version)?;
        let limit = timeout.unwrap_or(PATIENCE);
        let mut options = HandshakeOptions::new(temporary());
        options.home = Home::Persons;
        options.timeout = timeout.unwrap_or(options.timeout);
        let variables = session.variables(&launch);
        Ok(Self { version, _mark: mark, launch, variables, options, limit, relay: Relay::new(ui), ui })
    }

    pub(crate) fn attempt(&self) -> SignInResult {
        SignInResult::new(&self.version.receipt.id, &self.version.receipt.version)
    }

    /// The environment that `run` would start the agent with.
    fn environment(&self) -> Environment {
        let mut environment = Environment::for_person(env::vars_os());
        for (name, value) in &self.variables {
            environment.set(name, value);
        }
        environment
    }

    /// Starts the agent as `run` does, except for its working directory. `None` if no connection could be opened.
    pub(crate) async fn open(&self, attempt: &mut SignInResult) -> Result<Option<Conversation>, Failure> {
        let launch = process::LaunchSpec {
            program: self.launch.program.clone().into(),
            arguments: self.launch.args.iter().map(Into::into).collect(),
            directory: None,
            environment: self.environment(),
            isolation: Isolation::Environment,
            readable: Vec::new(),
            // Resource limits do not apply in the user's home directory.
            launcher: None,
            namespace: None,
        };
        self.ui.detail(&format!("starting {}", self.version.receipt.id));
        match Conversation::open(&launch, &self.options, Some(self.relay.listener())).await {
            Ok(conversation) => Ok(Some(conversation)),
            Err(OpenError::Setup(error)) => Err(error.into()),
            Err(OpenError::Agent(outcome)) => {
                let check = doctor::explain(&outcome);
                let reason = outcome.reason.map_or("agent_error", FailReason::as_str);
                attempt.fail(reason, check.message, check.help.unwrap_or_else(|| "".into()));
                self.note(*outcome, attempt);
                Ok(None)
            }
        }
    }

    pub(crate) async fn close(&self, conversation: Conversation, attempt: &mut SignInResult) {
        self.relay.end();
        self.note(conversation.close().await, attempt);
    }

    fn note(&self, outcome: Outcome, attempt: &mut SignInResult) {
        if let Some(error) = &outcome.left {
            self.ui.warning(&format!("a temporary directory could not be removed; remove it by hand: {error}"));
        }
        attempt.stderr_tail = outcome.stderr_tail;
    }

    /// Asks the agent for its methods. Fails if no connection can be opened.
    pub(crate) async fn methods(&self) -> Result<Vec<AuthMethod>, Failure> {
        let mut attempt = self.attempt();
        let Some(conversation) = self.open(&mut attempt).await? else {
            return Err(Failure::findings(&attempt.message).help_if(attempt.help.as_deref()));
        };
        let methods = conversation.handshake().auth_methods.clone();
        self.close(conversation, &mut attempt).await;
        Ok(methods)
    }

    /// Chooses the method, and carries it out unless it needs a terminal.
    pub(crate) async fn begin(&self, wanted: Option<&str>) -> Result<Step, Failure> {
        let mut attempt = self.attempt();
        let Some(mut conversation) = self.open(&mut attempt).await? else { return Ok(Step::Done(attempt.into())) };
        let method = match pick(conversation.handshake(), wanted)? {
            Picked::One(method) => method,
            Picked::Several(methods) => {
                self.close(conversation, &mut attempt).await;
                return Ok(Step::Ask(methods));
            }
            Picked::None => {
                attempt.look(&mut conversation, self.limit).await;
                self.close(conversation, &mut attempt).await;
                attempt.message = format!("it names no way to sign in; {}", attempt.message);
                return Ok(Step::Done(attempt.into()));
            }
        };
        attempt.method = Some(method.clone());
        let way = method.way();
        if matches!(way, Ok(Way::Agent | Way::Terminal(_))) {
            match attempt.look_before(&mut conversation, self.limit).await {
                None | Some(Probe::Ok | Probe::AuthRequired) => {}
                // It may have ended, or still be busy with the request.
                Some(_) => {
                    self.close(conversation, &mut attempt).await;
                    let Some(again) = self.open(&mut attempt).await? else { return Ok(Step::Done(attempt.into())) };
                    conversation = again;
                }
            }
        }
        match way {
            Ok(Way::Agent) => {
                self.ui.show(&format!(
                    "signing in to {} by {}: if it opens a browser, finish there; if it asks \
                     here, answer (at most {} s; Ctrl-C gives up)\n",
                    quote(&attempt.id),
                    quote(&method.id),
                    self.limit.as_secs_f64()
                ));
                self.relay.begin(&conversation);
                attempt.sign_in(&mut conversation, &method, self.limit).await;
            }
            Ok(Way::Variables { variables, left_out, link }) => {
                for name in &left_out {
                    let (method, name) = (quote(&method.id), quote(name));
                    self.ui.warning(&format!(
                        "{method} also offers to set {name}, which belongs to the system or to another program: do not \
                         set it for an agent"
                    ));
                }
                let environment = self.environment();
                let is_set = |name: &str| environment.get(name).is_some_and(|value| !value.is_empty());
                if attempt.ask_for_variables(variables, link, is_set) {
                    attempt.sign_in(&mut conversation, &method, self.limit).await;
                }
            }
            Ok(Way::Terminal(way)) => match in_terminal(&self.version, self.launch.clone(), way) {
                Ok(launch) => {
                    self.close(conversation, &mut attempt).await;
                    return Ok(Step::Terminal(attempt.into(), launch));
                }
                Err(error) => {
                    let help = "if you trust it, start it yourself; then `acp-registry run` finds what it has left";
                    attempt.fail("other_program", printable(&error.to_string()), help);
                }
            },
            Err(error) => {
                attempt.fail(
                    "method_refused",
                    printable(&error.to_string()),
                    "try another of its methods, or update it",
                );
            }
        }
        self.close(conversation, &mut attempt).await;
        Ok(Step::Done(attempt.into()))
    }

    /// Runs the agent's program in the terminal to sign in, then opens a session to check the result.
    pub(crate) fn in_terminal(
        &self,
        mut attempt: SignInResult,
        launch: Launch,
        is_json: bool,
    ) -> Result<SignInResult, Failure> {
        if !self.ui.has_terminal() {
            let method = attempt.method.as_ref().map(|method| method.id.as_str()).unwrap_or_default();
            let (id, method) = (quote(&attempt.id), quote(method));
            let message = format!("{method} signs in to {id} in a terminal, and stdin is not one");
            let [id, method] = [&id, &method].map(|name| name.trim_matches('`'));
            return Err(
                Failure::usage(message).help(format!("run `acp-registry login {id} --method {method}` in a terminal"))
            );
        }
        let mut variables = self.variables.clone();
        let more = launch.env.iter().filter(|pair| !self.launch.env.contains(pair));
        variables.extend(more.map(|(name, value)| (name.into(), value.into())));
        let program = Program {
            path: launch.program,
            variables,
            arguments: launch.args.into_iter().map(Into::into).collect(),
            keep_open: None,
        };
        // stdout is reserved for the result.
        let is_shown = !is_json && io::stdout().is_terminal();
        let stdout = if is_shown { Stdio::inherit() } else { io::stderr().into() };
        self.ui.note(&format!("{} has the terminal now", quote(&attempt.id)));
        let exit = signals::run_beside_program(attend(program, stdout))?
            .map_err(|error| Failure::unable(format!("{} cannot be started: {error}", quote(&attempt.id))))?;
        if exit.signal == Some(i32::from(signals::INTERRUPT)) || exit.code == Some(128 + i32::from(signals::INTERRUPT))
        {
            return Err(Failure::interrupted(signals::INTERRUPT));
        }
        if exit.code != Some(0) {
            let message = format!("its program ended with {} in the terminal", exit.describe());
            attempt.fail("exited", message, "what it wrote there may say why; try again");
            return Ok(attempt);
        }
        signals::run(self.ui, async {
            if let Some(mut conversation) = self.open(&mut attempt).await? {
                attempt.look(&mut conversation, self.limit).await;
                self.close(conversation, &mut attempt).await;
            }
            Ok::<_, Failure>(attempt)
        })?
    }
}

enum Picked {
    One(AuthMethod),
    Several(Vec<AuthMethod>),
    None,
}

/// The ids of methods, up to the number that is shown.
fn names(methods: &[AuthMethod]) -> impl Iterator<Item = &str> {
    methods.iter().take(METHODS).map(|method| method.id.as_str())
}

fn pick(handshake: &Handshake, wanted: Option<&str>) -> Result<Picked, Failure> {
    let methods = &handshake.auth_methods;
    let Some(wanted) = wanted else {
        return Ok(match &methods[..] {
            [] => Picked::None,
            [method] => Picked::One(method.clone()),
            methods => Picked::Several(methods.to_vec()),
        });
    };
    if let Some(method) = methods.iter().find(|method| method.id == wanted) {
        return Ok(Picked::One(method.clone()));
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
