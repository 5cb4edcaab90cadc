//! The methods: each is a use case of the library, with its request as parameters and its report as the result.

use acp_registry::failure::{Exit, Failure};
use acp_registry::ops::{self, Events, JOBS, Report};
use acp_registry::session::{AgentSpec, Session};
use acp_registry::text::{quote, suggestions};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::commands::login;
use crate::commands::rpc::message::{self, INVALID_PARAMS, RpcErrorDocument};
use crate::documents::Document;
use crate::flags::global::Global;
use crate::flags::session::{PackageArgs, SessionArgs, open};
use crate::terminal::progress::events;
use crate::terminal::signals;
use crate::terminal::ui::Ui;

/// The version of the methods, their parameters and results. It changes only with a change that breaks clients.
const PROTOCOL_VERSION: u32 = 1;

/// The flags of the process, which hold for every call.
pub(crate) struct Base {
    pub(crate) global: Global,
    pub(crate) place: SessionArgs,
    pub(crate) packages: PackageArgs,
}

/// Why a call failed.
pub(crate) type Refused = Box<RpcErrorDocument<'static>>;

impl From<Wrong> for Refused {
    fn from(Wrong { parameter, message, suggestions, help }: Wrong) -> Self {
        let failure = Failure::usage(message).suggest(suggestions.iter().map(String::as_str));
        RpcErrorDocument::new(INVALID_PARAMS, &failure.help_if(help)).with_parameter(parameter).into()
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        message::command_error(&failure).into()
    }
}

/// A call of a method. The document of the result goes to `ui`.
pub(crate) struct Call<'a> {
    pub(crate) params: Map<String, Value>,
    pub(crate) base: &'a Base,
    pub(crate) ui: &'a Ui,
}

/// Whether the host of the index is asked although the copy is fresh.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Refresh {
    Never,
    /// As the parameter `refresh` says.
    Asked,
    Always,
}

impl Call<'_> {
    /// The request and the session of the call.
    fn begin<R: DeserializeOwned>(&mut self, refresh: Refresh) -> Result<(R, Session), Refused> {
        let has_refresh = refresh == Refresh::Asked;
        let refreshes = refresh == Refresh::Always || (has_refresh && take_flag(&mut self.params, "refresh")?);
        let request = read(std::mem::take(&mut self.params), has_refresh.then_some("refresh"))?;
        let session = open(&self.base.place.with_refresh(refreshes), self.base.packages, &self.base.global)?;
        Ok((request, session))
    }

    /// Carries out a use case, whose report is the result. The exit code says nothing that the document does not. `jobs` is the
    /// number of installations at once.
    fn run<R: DeserializeOwned, T: Report>(
        mut self,
        refresh: Refresh,
        jobs: usize,
        work: impl AsyncFnOnce(&mut Session, R, &Events<'_>) -> Result<T, Refused>,
    ) -> Result<Exit, Refused> {
        let (request, mut session) = self.begin(refresh)?;
        let events = events(self.ui);
        let work = work(&mut session, request, &events);
        let done = if jobs == 0 { signals::run(self.ui, work) } else { signals::run_with_threads(self.ui, jobs, work) };
        let report = done??;
        self.ui.failures(report.errors());
        self.ui.report(&report)?;
        Ok(report.exit())
    }

    /// Carries out a use case that takes the request as it is read.
    fn ask<R: DeserializeOwned, T: Report>(
        self,
        refresh: Refresh,
        jobs: usize,
        op: impl AsyncFnOnce(&Session, &R, &Events<'_>) -> Result<T, Failure>,
    ) -> Result<Exit, Refused> {
        self.run(refresh, jobs, async |session, request, events| Ok(op(session, &request, events).await?))
    }
}

/// What a method may do beside answering.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It changes nothing and starts no agent. It is still answered after the end of the input.
    None,
    /// It may start agents, which leave no process behind.
    Start,
    /// It starts an agent for the person, whose browser lives on.
    SignIn,
}

/// A use case that clients call by name.
pub(crate) struct Method {
    pub(crate) name: &'static str,
    pub(crate) effect: Effect,
    pub(crate) run: fn(Call<'_>) -> Result<Exit, Refused>,
}

/// The parameters of a method without parameters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoParams {}

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
#[derive(Default)]
struct ListParams {
    installed: bool,
}

/// All methods.
pub(crate) const METHODS: [Method; 13] = [
    Method { name: "initialize", effect: Effect::None, run: initialize },
    Method {
        name: "list",
        effect: Effect::None,
        run: |mut call| {
            let (ListParams { installed }, session) = call.begin(Refresh::Asked)?;
            let events = events(call.ui);
            if installed {
                call.ui.report(&ops::list_installed(&session, session.index_at_hand().as_ref(), &events)?)?;
            } else {
                call.ui.report(&signals::run(call.ui, ops::list(&session, &events))??)?;
            }
            Ok(Exit::Success)
        },
    },
    Method { name: "search", effect: Effect::None, run: |call| call.ask(Refresh::Asked, 0, ops::search) },
    Method { name: "info", effect: Effect::None, run: |call| call.ask(Refresh::Asked, 0, ops::describe) },
    Method { name: "resolve", effect: Effect::None, run: |call| call.ask(Refresh::Asked, 0, ops::resolve) },
    Method {
        name: "which",
        effect: Effect::None,
        run: |call| {
            call.run(Refresh::Never, 0, async |session, request, events| Ok(ops::locate(session, &request, events)?))
        },
    },
    Method {
        name: "install",
        effect: Effect::Start,
        run: |call| {
            call.run(Refresh::Asked, JOBS, async |session, request: ops::Install, events| {
                if request.agents.is_empty() && !request.locked {
                    return Err(missing("agents").into());
                }
                Ok(ops::install(session, &request, events).await?)
            })
        },
    },
    Method {
        name: "update",
        effect: Effect::Start,
        run: |call| {
            call.run(Refresh::Asked, JOBS, async |session, request: ops::Update, events| {
                refuse_update(&request)?;
                Ok(ops::update(session, &request, events).await?)
            })
        },
    },
    Method {
        name: "uninstall",
        effect: Effect::Start,
        run: |call| {
            call.run(Refresh::Never, 0, async |session, request: ops::Uninstall, events| {
                // Without agents, all of them would be removed.
                match (request.agents.is_empty(), request.all) {
                    (false, true) => Err(conflict("all", "agents").into()),
                    (true, false) => Err(Wrong::new("agents", "or `all` is missing").into()),
                    _ => Ok(ops::uninstall(session, &request, events).await?),
                }
            })
        },
    },
    Method { name: "doctor", effect: Effect::Start, run: |call| call.ask(Refresh::Always, JOBS, ops::diagnose) },
    Method {
        name: "login/methods",
        effect: Effect::SignIn,
        run: |mut call| {
            let (request, session) = call.begin(Refresh::Never)?;
            let methods =
                login::with_attempt(&session, &request, call.ui, |attempt| signals::run(call.ui, attempt.methods())?);
            call.ui.report(&methods?)?;
            Ok(Exit::Success)
        },
    },
    Method {
        name: "login",
        effect: Effect::SignIn,
        run: |mut call| {
            let (request, session) = call.begin(Refresh::Never)?;
            Ok(login::sign_in(&session, &request, true, call.ui)?)
        },
    },
    Method {
        name: "logout",
        effect: Effect::SignIn,
        run: |mut call| {
            let (request, session) = call.begin(Refresh::Never)?;
            Ok(login::with_attempt(&session, &request, call.ui, |attempt| {
                login::show(&signals::run(call.ui, attempt.sign_out())??, true, call.ui)
            })?)
        },
    },
];

/// The failure for a method that does not exist.
pub(crate) fn unknown(name: &str) -> Failure {
    let near = suggestions(name, METHODS.iter().map(|method| method.name));
    let failure = Failure::usage(format!("there is no method {}", quote(name)));
    if near.is_empty() {
        let known: Vec<&str> = METHODS.iter().map(|method| method.name).collect();
        failure.help(format!("the methods are {}", known.join(", ")))
    } else {
        failure.suggest(near)
    }
}

fn initialize(call: Call<'_>) -> Result<Exit, Refused> {
    let NoParams {} = read(call.params, None)?;
    let methods: Vec<&str> = METHODS.iter().map(|method| method.name).collect();
    let members = json!({
        "name": env!("CARGO_PKG_NAME"),
        "version": env!("CARGO_PKG_VERSION"),
        "protocol_version": PROTOCOL_VERSION,
        "methods": methods,
    });
    call.ui.document(&Document::new("initialize", members))?;
    Ok(Exit::Success)
}

/// The most agents that a call names.
const AGENTS: usize = 1000;

/// Why parameters cannot be read: one is missing, unknown or wrong.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) parameter: String,
    pub(crate) message: String,
    /// The names that an unknown one could have meant, the nearest first.
    pub(crate) suggestions: Vec<String>,
    pub(crate) help: Option<String>,
}

impl Wrong {
    fn new(parameter: &str, what: &str) -> Self {
        let message = format!("{} {what}", quote(parameter));
        Self { parameter: parameter.to_owned(), message, suggestions: Vec::new(), help: None }
    }

    /// A parameter with a wrong value. `message` is serde's, which ends with what was expected.
    fn mistyped(name: &str, message: &str) -> Self {
        let wanted = message.rfind("expected ").map_or(message, |at| &message[at..]);
        Self::new(name, &format!("is wrong: {wanted}"))
    }

    /// A name that is not among the known ones.
    fn unknown(name: &str, known: &[&str]) -> Self {
        let near = suggestions(name, known.iter().copied()).into_iter().map(ToOwned::to_owned).collect();
        let named: Vec<String> = known.iter().map(|known| quote(known)).collect();
        let help = if named.is_empty() { "it has none".to_owned() } else { format!("it has {}", named.join(", ")) };
        Self { suggestions: near, help: Some(help), ..Self::new(name, "is not a parameter of this method") }
    }
}

/// Takes a parameter that is true or false out of the parameters.
pub(crate) fn take_flag(params: &mut Map<String, Value>, name: &str) -> Result<bool, Wrong> {
    match params.remove(name) {
        None | Some(Value::Null) => Ok(false),
        Some(value) => bool::deserialize(value).map_err(|error| Wrong::mistyped(name, &error.to_string())),
    }
}

/// Reads parameters as a request. Null stands for a missing one. `more` is a parameter that was taken before.
pub(crate) fn read<T: DeserializeOwned>(mut params: Map<String, Value>, more: Option<&str>) -> Result<T, Wrong> {
    params.retain(|_, value| !value.is_null());
    if params.get("agents").and_then(Value::as_array).is_some_and(|agents| agents.len() > AGENTS) {
        return Err(Wrong::new("agents", &format!("has more than {AGENTS} items")));
    }
    let parse = |params: Map<String, Value>| T::deserialize(Value::Object(params)).map_err(|error| error.to_string());
    let message = match parse(params.clone()) {
        Ok(request) => return Ok(request),
        Err(message) => message,
    };
    // The words of serde's derived types, which have no other form.
    let mut named = message.split('`').skip(1).step_by(2);
    if message.starts_with("missing field") {
        return Err(missing(named.next().unwrap_or_default()));
    }
    if message.starts_with("unknown field") {
        let name = named.next().unwrap_or_default();
        return Err(Wrong::unknown(name, &named.chain(more).collect::<Vec<_>>()));
    }
    let wrong = params.into_iter().find_map(|(name, value)| {
        let message = parse(Map::from_iter([(name.clone(), value)])).err()?;
        (!message.starts_with("missing field")).then(|| Wrong::mistyped(&name, &message))
    });
    Err(wrong.unwrap_or_else(|| Wrong::mistyped("params", &message)))
}

/// Refuses what the command refuses in the words of its flags.
fn refuse_update(request: &ops::Update) -> Result<(), Wrong> {
    if let Some(named) = request.agents.iter().find(|named| named.version.is_some()) {
        let named = quote(&named.to_string());
        return Err(Wrong::new("agents", &format!("are named without a version, unlike {named}: `to` is one")));
    }
    let Some(version) = &request.to else { return Ok(()) };
    let [agent] = request.agents.as_slice() else {
        return Err(Wrong::new("to", "is the version of one agent: name one in `agents`"));
    };
    if request.unpin {
        return Err(conflict("unpin", "to"));
    }
    match format!("{}@{version}", agent.id).parse() {
        Ok(AgentSpec { version: Some(_), .. }) => Ok(()),
        _ => Err(Wrong::mistyped("to", "expected a version")),
    }
}

/// The error for a parameter that must be there.
pub(crate) fn missing(name: &str) -> Wrong {
    Wrong::new(name, "is missing")
}

/// The error for a parameter that another one excludes.
pub(crate) fn conflict(name: &str, other: &str) -> Wrong {
    Wrong::new(name, &format!("cannot be combined with {}", quote(other)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use acp_registry::ops::{Describe, Install, Resolve, SignOut, Update};

    fn params(value: Value) -> Map<String, Value> {
        if let Value::Object(members) = value { members } else { Map::new() }
    }

    fn wrong<T: DeserializeOwned + std::fmt::Debug>(value: Value) -> (String, String, Option<String>) {
        let Wrong { parameter, message, help, .. } = read::<T>(params(value), Some("refresh")).unwrap_err();
        (parameter, message, help)
    }

    #[test]
    fn a_parameter_that_is_wrong_is_named_with_what_it_should_be() {
        let many = json!({ "agents": vec!["a"; AGENTS + 1] });
        let wrong_list = "`agents` is wrong: expected a sequence";
        for (found, parameter, message) in [
            (wrong::<Install>(json!({ "agents": "a" })), "agents", wrong_list),
            (
                wrong::<Install>(json!({ "agents": [7], "dry_run": true })),
                "agents",
                "`agents` is wrong: expected a string",
            ),
            (wrong::<Install>(many), "agents", "`agents` has more than 1000 items"),
            (
                wrong::<Install>(json!({ "agents": ["a"], "dry_run": 1 })),
                "dry_run",
                "`dry_run` is wrong: expected a boolean",
            ),
            (wrong::<Update>(json!({ "to": 7 })), "to", "`to` is wrong: expected a string"),
            (
                wrong::<Describe>(json!({ "agent": "a", "permissions": true })),
                "permissions",
                "`permissions` is wrong: expected path string",
            ),
            (
                wrong::<Install>(json!({ "dist": "exe" })),
                "dist",
                "`dist` is wrong: expected one of `npx`, `uvx`, `binary`",
            ),
            (wrong::<Resolve>(json!({ "agent": "a@" })), "agent", "`agent` is wrong: expected ID or ID@VERSION"),
            (wrong::<Resolve>(json!({ "agent": null })), "agent", "`agent` is missing"),
            (
                wrong::<SignOut>(json!({ "agent": "a", "timeout_seconds": 0 })),
                "timeout_seconds",
                "`timeout_seconds` is wrong: expected a number of seconds above 0",
            ),
            (
                wrong::<Update>(json!({ "min_age_seconds": -1 })),
                "min_age_seconds",
                "`min_age_seconds` is wrong: expected a number of seconds from 0 to ten years",
            ),
        ] {
            assert_eq!(found, (parameter.to_owned(), message.to_owned(), None));
        }
        let (parameter, message, help) = wrong::<Resolve>(json!({ "agnt": "a" }));
        assert_eq!((parameter.as_str(), message.as_str()), ("agnt", "`agnt` is not a parameter of this method"));
        assert_eq!(help.as_deref(), Some("it has `agent`, `dist`, `refresh`"));
    }

    #[test]
    fn null_stands_for_a_missing_parameter() {
        let request: Update = read(params(json!({ "agents": null, "min_age_seconds": 0.5 })), None).unwrap();
        assert_eq!((request.agents.len(), request.min_age), (0, Some(std::time::Duration::from_millis(500))));
        let mut members = params(json!({ "refresh": true, "agent": "a" }));
        assert_eq!(take_flag(&mut members, "refresh"), Ok(true));
        assert_eq!(take_flag(&mut members, "refresh"), Ok(false));
        assert!(take_flag(&mut params(json!({ "refresh": "yes" })), "refresh").is_err());
    }
}
