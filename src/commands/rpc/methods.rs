//! The methods: each is a use case of the library, with its request as parameters and its report as the result.

use acp_registry::failure::{Exit, Failure};
use acp_registry::ops::{self, Events, JOBS, Report};
use acp_registry::session::Session;
use acp_registry::text::{quote, suggestions};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::commands::login;
use crate::commands::rpc::message::{self, INVALID_PARAMS};
use crate::commands::rpc::params::{Wrong, conflict, missing, read, take_flag};
use crate::documents::{Document, Interface, RpcErrorDocument};
use crate::flags::global::Global;
use crate::flags::session::{PackageArgs, SessionArgs, open};
use crate::terminal::progress::Progress;
use crate::terminal::signals;
use crate::terminal::ui::Ui;

/// The version of the methods, their parameters and results.
const PROTOCOL_VERSION: u32 = 1;

/// The flags of the process, which hold for every call.
pub(crate) struct Base {
    pub(crate) global: Global,
    pub(crate) place: SessionArgs,
    pub(crate) packages: PackageArgs,
}

/// Why a call failed.
pub(crate) enum Refused {
    Parameter(Wrong),
    Command(Failure),
}

impl From<Wrong> for Refused {
    fn from(wrong: Wrong) -> Self {
        Self::Parameter(wrong)
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self::Command(failure)
    }
}

impl Refused {
    pub(crate) fn error(self) -> RpcErrorDocument<'static> {
        match self {
            Self::Command(failure) => message::command_error(&failure),
            Self::Parameter(Wrong { parameter, message, suggestions, help }) => {
                let failure = Failure::usage(message).suggest(suggestions.iter().map(String::as_str));
                RpcErrorDocument::new(INVALID_PARAMS, &failure.help_if(help)).with_parameter(parameter)
            }
        }
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
        let progress = Progress::new(self.ui);
        let events = |event: ops::Event<'_>| progress.show(event);
        let work = work(&mut session, request, &events);
        let done = if jobs == 0 { signals::run(self.ui, work) } else { signals::run_with_threads(self.ui, jobs, work) };
        let report = done??;
        self.ui.failures(report.errors());
        self.ui.report(&report)?;
        Ok(report.exit())
    }
}

/// A method.
pub(crate) struct Method {
    pub(crate) name: &'static str,
    /// Whether it changes nothing and starts no agent. It is still answered after the end of the input.
    pub(crate) only_reads: bool,
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
    Method { name: "initialize", only_reads: true, run: initialize },
    Method {
        name: "list",
        only_reads: true,
        run: |mut call| {
            let (ListParams { installed }, session) = call.begin(Refresh::Asked)?;
            let progress = Progress::new(call.ui);
            let events = |event: ops::Event<'_>| progress.show(event);
            if installed {
                call.ui.report(&ops::list_installed(&session, session.index_at_hand().as_ref(), &events)?)?;
            } else {
                call.ui.report(&signals::run(call.ui, ops::list(&session, &events))??)?;
            }
            Ok(Exit::Success)
        },
    },
    Method {
        name: "search",
        only_reads: true,
        run: |call| {
            call.run(Refresh::Asked, 0, async |session, request, events| {
                Ok(ops::search(session, &request, events).await?)
            })
        },
    },
    Method {
        name: "info",
        only_reads: true,
        run: |call| {
            let work = async |session: &mut Session, request, events: &Events<'_>| {
                Ok(ops::describe(session, &request, events).await?)
            };
            call.run(Refresh::Asked, 0, work)
        },
    },
    Method {
        name: "resolve",
        only_reads: true,
        run: |call| {
            call.run(Refresh::Asked, 0, async |session, request, events| {
                Ok(ops::resolve(session, &request, events).await?)
            })
        },
    },
    Method {
        name: "which",
        only_reads: true,
        run: |call| {
            call.run(Refresh::Never, 0, async |session, request, events| Ok(ops::locate(session, &request, events)?))
        },
    },
    Method {
        name: "install",
        only_reads: false,
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
        only_reads: false,
        run: |call| {
            call.run(Refresh::Asked, JOBS, async |session, request, events| {
                Ok(ops::update(session, &request, events).await?)
            })
        },
    },
    Method {
        name: "uninstall",
        only_reads: false,
        run: |call| {
            call.run(Refresh::Never, 0, async |session, request: ops::Uninstall, events| {
                // Without agents, all of them would be removed.
                match (request.agents.is_empty(), request.all) {
                    (false, true) => Err(conflict("all", "agents").into()),
                    (true, false) => Err(missing("agents").into()),
                    _ => Ok(ops::uninstall(session, &request, events).await?),
                }
            })
        },
    },
    Method {
        name: "doctor",
        only_reads: false,
        run: |call| {
            let work = async |session: &mut Session, request, events: &Events<'_>| {
                Ok(ops::diagnose(session, &request, events).await?)
            };
            call.run(Refresh::Always, JOBS, work)
        },
    },
    Method {
        name: "login/methods",
        only_reads: false,
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
        only_reads: false,
        run: |mut call| {
            let (request, session) = call.begin(Refresh::Never)?;
            Ok(login::sign_in(&session, &request, true, call.ui)?)
        },
    },
    Method {
        name: "logout",
        only_reads: false,
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
    call.ui.document(&Document::new(
        "initialize",
        Interface {
            name: env!("CARGO_PKG_NAME"),
            version: env!("CARGO_PKG_VERSION"),
            protocol_version: PROTOCOL_VERSION,
            methods: METHODS.iter().map(|method| method.name).collect(),
        },
    ))?;
    Ok(Exit::Success)
}
