//! The methods, each of which runs a command.

use acp_registry::text::{quote, suggestions};

use crate::commands::rpc::message::{self, INVALID_PARAMS};
use crate::commands::rpc::params::{Params, Wrong, conflict, missing};
use crate::commands::{doctor, info, install, list, login, resolve, run, uninstall, update};
use crate::documents::{Document, Interface, RpcErrorDocument};
use crate::flags::global::{FormatArgs, Global};
use crate::flags::session::{PackageArgs, SessionArgs};
use crate::terminal::ui::Ui;
use acp_registry::failure::{Exit, Failure};

/// The version of the methods, their parameters and results.
const PROTOCOL_VERSION: u32 = 1;

/// The flags of the process, which hold for every call.
pub(crate) struct Base {
    pub(crate) global: Global,
    pub(crate) place: SessionArgs,
    pub(crate) packages: PackageArgs,
}

impl Base {
    /// The place, where `refresh` asks for the index even if the copy is fresh.
    fn place(&self, params: &mut Params) -> Result<SessionArgs, Wrong> {
        Ok(self.place.with_refresh(params.flag("refresh")?))
    }
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
            Self::Command(failure) => message::command_error(failure),
            Self::Parameter(Wrong { parameter, message, suggestions, help }) => {
                let failure = Failure::usage(message).suggest(suggestions.iter().map(String::as_str));
                let failure = failure.help_if(help.as_deref());
                RpcErrorDocument::new(INVALID_PARAMS, failure).with_parameter(parameter)
            }
        }
    }
}

/// Runs a command with these parameters; its document goes to the call. The exit code tells nothing that the document
/// does not.
type Run = fn(Params, &Base, &Ui) -> Result<Exit, Refused>;

/// A method.
pub(crate) struct Method {
    pub(crate) name: &'static str,
    /// Whether it changes nothing and starts no agent. It is still answered after the end of the input.
    pub(crate) only_reads: bool,
    pub(crate) run: Run,
}

/// All methods.
pub(crate) const METHODS: [Method; 13] = [
    Method { name: "initialize", only_reads: true, run: initialize },
    Method { name: "list", only_reads: true, run: list },
    Method { name: "search", only_reads: true, run: search },
    Method { name: "info", only_reads: true, run: info },
    Method { name: "resolve", only_reads: true, run: resolve },
    Method { name: "which", only_reads: true, run: which },
    Method { name: "install", only_reads: false, run: install },
    Method { name: "update", only_reads: false, run: update },
    Method { name: "uninstall", only_reads: false, run: uninstall },
    Method { name: "doctor", only_reads: false, run: doctor },
    Method { name: "login/methods", only_reads: false, run: login_methods },
    Method { name: "login", only_reads: false, run: login },
    Method { name: "logout", only_reads: false, run: logout },
];

/// The failure for a method that does not exist.
pub(crate) fn unknown(name: &str) -> Failure {
    let near = suggestions(name, METHODS.iter().map(|method| method.name));
    Failure::usage(format!("there is no method {}", quote(name))).suggest(near)
}

fn initialize(params: Params, _: &Base, ui: &Ui) -> Result<Exit, Refused> {
    params.end()?;
    ui.document(&Document::new(
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

fn list(mut params: Params, base: &Base, ui: &Ui) -> Result<Exit, Refused> {
    let installed = params.flag("installed")?;
    let args = list::Args { installed, place: base.place(&mut params)?, format: FormatArgs::json() };
    params.end()?;
    Ok(list::run(&args, &base.global, ui)?)
}

fn search(mut params: Params, base: &Base, ui: &Ui) -> Result<Exit, Refused> {
    let query = vec![params.text("query")?.ok_or_else(|| missing("query"))?];
    let args = list::SearchArgs { query, place: base.place(&mut params)?, format: FormatArgs::json() };
    params.end()?;
    Ok(list::search(&args, &base.global, ui)?)
}

fn info(mut params: Params, base: &Base, ui: &Ui) -> Result<Exit, Refused> {
    let agent = params.agent()?;
    let args = info::Args { agent, place: base.place(&mut params)?, format: FormatArgs::json() };
    params.end()?;
    Ok(info::run(&args, &base.global, ui)?)
}

fn resolve(mut params: Params, base: &Base, ui: &Ui) -> Result<Exit, Refused> {
    let (agent, dist) = (params.agent()?, params.kind()?);
    let args = resolve::Args { agent, dist, place: base.place(&mut params)?, format: FormatArgs::json() };
    params.end()?;
    Ok(resolve::run(&args, &base.global, ui)?)
}

fn which(mut params: Params, base: &Base, ui: &Ui) -> Result<Exit, Refused> {
    let args = run::WhichArgs { agent: params.agent()?, place: base.place.clone(), format: FormatArgs::json() };
    params.end()?;
    Ok(run::which(&args, &base.global, ui)?)
}

fn install(mut params: Params, base: &Base, ui: &Ui) -> Result<Exit, Refused> {
    let args = install::Args {
        agents: params.agents()?,
        dist: params.kind()?,
        lock: params.text("lock")?.map(Into::into),
        locked: params.flag("locked")?,
        dry_run: params.flag("dry_run")?,
        no_check: params.flag("no_check")?,
        packages: base.packages,
        place: base.place(&mut params)?,
        format: FormatArgs::json(),
    };
    params.end()?;
    if args.agents.is_empty() && !args.locked {
        return Err(missing("agents").into());
    }
    Ok(install::run(&args, &base.global, ui)?)
}

fn update(mut params: Params, base: &Base, ui: &Ui) -> Result<Exit, Refused> {
    let args = update::Args {
        agents: params.agents()?,
        dry_run: params.flag("dry_run")?,
        min_age: params.age("min_age_seconds")?,
        unpin: params.flag("unpin")?,
        no_check: params.flag("no_check")?,
        packages: base.packages,
        place: base.place(&mut params)?,
        format: FormatArgs::json(),
    };
    params.end()?;
    Ok(update::run(&args, &base.global, ui)?)
}

fn uninstall(mut params: Params, base: &Base, ui: &Ui) -> Result<Exit, Refused> {
    let args = uninstall::Args {
        agents: params.agents()?,
        all: params.flag("all")?,
        force: params.flag("force")?,
        dry_run: params.flag("dry_run")?,
        place: base.place.clone(),
        format: FormatArgs::json(),
    };
    params.end()?;
    // Without agents, the command would remove all of them.
    if args.agents.is_empty() != args.all {
        return Err(if args.all { conflict("all", "agents") } else { missing("agents") }.into());
    }
    Ok(uninstall::run(&args, &base.global, ui)?)
}

fn doctor(mut params: Params, base: &Base, ui: &Ui) -> Result<Exit, Refused> {
    let args = doctor::Args {
        agents: params.agents()?,
        fix: params.flag("fix")?,
        timeout: params.seconds("timeout_seconds")?,
        place: base.place.clone(),
        format: FormatArgs::json(),
    };
    params.end()?;
    Ok(doctor::run(&args, &base.global, ui)?)
}

fn login_methods(mut params: Params, base: &Base, ui: &Ui) -> Result<Exit, Refused> {
    let args = login::Args {
        agent: params.agent()?,
        method: None,
        timeout: params.seconds("timeout_seconds")?,
        place: base.place.clone(),
        format: FormatArgs::json(),
    };
    params.end()?;
    Ok(login::methods(&args, &base.global, ui)?)
}

fn login(mut params: Params, base: &Base, ui: &Ui) -> Result<Exit, Refused> {
    let args = login::Args {
        agent: params.agent()?,
        method: params.text("method")?,
        timeout: params.seconds("timeout_seconds")?,
        place: base.place.clone(),
        format: FormatArgs::json(),
    };
    params.end()?;
    Ok(login::run(&args, &base.global, ui)?)
}

fn logout(mut params: Params, base: &Base, ui: &Ui) -> Result<Exit, Refused> {
    let args = login::LogoutArgs {
        agent: params.agent()?,
        timeout: params.seconds("timeout_seconds")?,
        place: base.place.clone(),
        format: FormatArgs::json(),
    };
    params.end()?;
    Ok(login::log_out(&args, &base.global, ui)?)
}
