//! The handshake with an installed agent, and its result explained.

use std::path::Path;

use super::{DiagnosedAgent, Diagnosis};
use crate::install::Interpreter;
use crate::store::Version;
use acp_registry_host::owner::is_safe_for_programs;
use acp_registry_host::process::{Environment, Isolation, LaunchSpec};
use acp_registry_plan::text::{printable, quote};
use acp_registry_protocol::handshake::{
    FailReason, HandshakeOptions, Outcome, Probe, SetupError, check, set_variables,
};

/// Starts the agent, unless a check has found a reason why it cannot start, and adds the result.
///
/// The agent gets the variables of `environment` and of its manifest, and an empty home. Afterwards it is ended with
/// all processes that it has started. This takes as long as [`check()`], or twice as long when the agent dies by a
/// signal or does not answer: it is then started once more.
///
/// # Errors
/// [`SetupError`] when the directory for the handshake cannot be made.
pub async fn start(
    examined: &mut DiagnosedAgent,
    environment: &Environment,
    launcher: Option<&Path>,
    options: &HandshakeOptions,
) -> Result<(), SetupError> {
    let Some(version) = &examined.startable else {
        let help = "repair that first";
        examined.add(Diagnosis::error("handshake", "it was not started, because of the errors above", help));
        return Ok(());
    };
    let version = version.clone();
    match speak(&version, environment, launcher, options).await? {
        Ok(outcome) => {
            let mut check = explain(&outcome);
            examined.handshake = Some(outcome);
            if examined.may_miss_files() {
                // While the scripts are forbidden, a new installation would lack the same files.
                let of_scripts = version.receipt.remarks.scripts_not_run.remedy(&examined.id);
                check.help =
                    of_scripts.or_else(|| Some(format!("{} installs it again", version.receipt.repair_command())));
            }
            examined.add(check);
        }
        Err(problem) => {
            let help = "tell the people who keep the registry";
            examined.add(Diagnosis::error("handshake", format!("it was not started: {problem}"), help));
        }
    }
    Ok(())
}

/// Starts an installed version as [`start`] does. The inner error says why it cannot be started, as a part of a
/// sentence. Printable.
///
/// # Errors
/// [`SetupError`] when the directory for the handshake cannot be made.
pub async fn speak(
    version: &Version,
    environment: &Environment,
    launcher: Option<&Path>,
    options: &HandshakeOptions,
) -> Result<Result<Outcome, String>, SetupError> {
    let start = match version.find_start(|| environment.clone()) {
        Ok(start) => start,
        Err(name) => return Ok(Err(format!("{} is not in PATH", quote(&name)))),
    };
    let mut environment = environment.clone();
    let variables = start.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    if let Err(error) = set_variables(&mut environment, variables) {
        return Ok(Err(error.to_string()));
    }
    environment.append_to_path(start.beside.into_iter().filter(|folder| is_safe_for_programs(folder)));
    let launch = LaunchSpec {
        program: start.program.into(),
        arguments: start.args.into_iter().map(Into::into).collect(),
        directory: None,
        environment,
        isolation: Isolation::Environment,
        readable: Vec::new(),
        launcher: launcher.map(Path::to_owned),
        namespace: None,
    };
    // As long as it runs, it is not removed.
    let mark = version.mark_used();
    let mut outcome = check(&launch, options).await?;
    if outcome.may_be_chance() {
        outcome = check(&launch, options).await?.after_failure();
    }
    if outcome.has_silence() {
        outcome = outcome.prefer_fewer_timeouts(check(&launch, &options.patient()).await?);
    }
    drop(mark);
    let interpreter = version.receipt.interpreter.as_ref();
    // Another one may have started it.
    let own = interpreter.filter(|interpreter| interpreter.program.as_os_str() == launch.program);
    if let Some(shortfall) = own.and_then(Interpreter::shortfall) {
        outcome.blame_runtime(&shortfall.to_string());
    }
    Ok(Ok(outcome))
}

/// Explains an outcome.
#[must_use]
pub fn explain(outcome: &Outcome) -> Diagnosis {
    let Some(reason) = outcome.reason else { return passed(outcome) };
    let said = outcome.message.as_deref().map(printable).unwrap_or_default();
    let (what, help) = words(reason);
    let message = format!("{what}: {said}");
    let may_be_used = outcome.handshake.probes.get("session/new") == Some(Probe::Ok);
    match reason {
        // Registries require a way to sign in; an agent that has opened a session works without one.
        FailReason::NoAuthMethods | FailReason::NoSupportedAuthType if may_be_used => {
            Diagnosis::warning("handshake", message, "it opens a session all the same: nothing needs to be done")
        }
        _ => Diagnosis::error("handshake", message, help),
    }
}

fn passed(outcome: &Outcome) -> Diagnosis {
    let handshake = &outcome.handshake;
    let named = handshake.agent_info.get("name").and_then(|name| name.as_str());
    let who = named.map_or_else(String::new, |name| format!(" as {}", quote(name)));
    let next = match handshake.probes.get("session/new") {
        Some(Probe::Ok) => "; it opens a session without signing in",
        Some(Probe::AuthRequired) => "; it wants you to sign in first, as it was started without your own settings",
        Some(_) if handshake.setup_required.is_some() => {
            let said = handshake.setup_required.as_deref().map(printable).unwrap_or_default();
            let help = "do what the agent says; it was started with an empty home and without your keys, so that what you have \
                        set up already may be enough: `acp-registry login` starts it with yours";
            let message = format!("it answers{who}, but opens no session before it is set up: {said}");
            return Diagnosis::warning("handshake", message, help);
        }
        Some(_) => {
            let said = handshake.probes.refusal().map(printable).unwrap_or_default();
            let help = "it was started with an empty home and without your keys, which may be why: `acp-registry login` starts \
                        it with yours; what it wrote to stderr may say more";
            let message = format!("it answers{who}, but opens no session: {said}");
            return Diagnosis::warning("handshake", message, help);
        }
        None => "",
    };
    let again = if outcome.is_flaky { ", but only when it was started again" } else { "" };
    Diagnosis::ok("handshake", format!("it answers{who}{again}{next}"))
}

/// What has happened, and what helps.
fn words(reason: FailReason) -> (&'static str, &'static str) {
    match reason {
        FailReason::NoAuthMethods => (
            "it starts and answers, but names no way to sign in",
            "look into its own documentation for how to sign in, or update it",
        ),
        FailReason::NoSupportedAuthType => (
            "it starts and answers, but names only ways to sign in that editors cannot offer",
            "look into its own documentation: it may want a variable with a key to be set",
        ),
        FailReason::Timeout => (
            "it was started, but did not answer in time",
            "try again with a longer --timeout; if it waits for the network, see whether the network is there",
        ),
        FailReason::MachineBusy => {
            ("it was started, but the machine was too busy for it to answer", "try again when less runs on it")
        }
        FailReason::Exited => ("it was started, but ended at once", "update it"),
        FailReason::InvalidResponse => (
            "it was started, but what it wrote is not the answer of an ACP agent",
            "see with `acp-registry which` whether its arguments start it as one, and update it",
        ),
        FailReason::AgentError => (
            "it was started, but answered with an error",
            "what it wrote to stderr may say why; update it, or tell its makers",
        ),
        FailReason::ProtocolVersion => ("it speaks a version of the protocol that editors do not", "update it"),
        FailReason::Examination => ("it starts and answers, but does not keep to the protocol", "update it"),
        FailReason::ReadsSecrets => {
            ("it opens files with credentials that it has no use for", "uninstall it, and tell its makers")
        }
        FailReason::RuntimeTooOld => (
            "it did not answer, and asks for another version of what starts it",
            "put a newer Node.js first in PATH: the next start uses it",
        ),
        FailReason::SpawnFailed => (
            "the system cannot start it",
            "the program may be for another system or lack a library; try `acp-registry install --dist npx` or \
             uvx, if the agent has such a package",
        ),
    }
}
