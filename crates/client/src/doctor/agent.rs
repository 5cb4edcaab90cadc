//! One installed agent, as it is on disk.

use super::{CheckStatus, DiagnosedAgent, Diagnosis};
use crate::install::{DigestSource, Interpreter, remedy};
use crate::store::{Candidate, Damage, Error, Store, Version, remove_by_hand, repair_command};
use acp_registry_plan::manifest::AgentId;

use acp_registry_host::fs::PathError;
use acp_registry_host::process::{Environment, Obstacle};
use acp_registry_plan::text::{brief_list, escape, printable, quote};

/// How many damaged files are named.
const NAMED: usize = 3;

/// Looks at an agent of [`Store::ids`]: its receipts, its programs, and every file whose digest was kept.
///
/// # Errors
/// [`PathError`] when its directory cannot be read.
pub fn installed(store: &Store, id: &AgentId, environment: &Environment) -> Result<DiagnosedAgent, PathError> {
    let remains = store.examine(id)?;
    let mut examined = DiagnosedAgent {
        id: id.to_string(),
        version: None,
        status: CheckStatus::Ok,
        checks: Vec::new(),
        handshake: None,
        startable: None,
    };
    if !remains.leftovers.is_empty() {
        let message = "an interrupted installation has left files";
        let end = if remains.is_restorable { ", and puts back the version that was being repaired" } else { "" };
        let help = format!("`acp-registry gc` removes them{end}");
        examined.add(Diagnosis::warning("leftovers", message, help));
    }
    for path in remains.foreign {
        let shown = path.display().to_string();
        let message = format!("{} was not made by this program", printable(&shown));
        examined.add(Diagnosis::warning(
            "foreign",
            message,
            "nothing needs to be done: it is never started, and stays",
        ));
    }
    if let Err(error) = owner(store, id) {
        examined.add(broken("owner", &error, remove_by_hand().to_owned()));
    }
    let current = match remains.current {
        Ok(current) => current,
        Err(error) => {
            examined.add(broken("current", &error, repair(id)));
            None
        }
    };
    match &current {
        Some(folder) if !remains.versions.iter().any(|found| found.folder == *folder) => {
            let message = format!("the version that is started, {}, is gone", quote(folder));
            examined.add(Diagnosis::error("current", message, repair(id)));
        }
        // What an interrupted first installation has left is not an agent yet.
        None if examined.status != CheckStatus::Error && !remains.versions.is_empty() => {
            examined.add(Diagnosis::error("current", "no version is there to be started", repair(id)));
        }
        _ => {}
    }
    for found in remains.versions {
        look_at(found, current.as_ref(), environment, &mut examined);
    }
    Ok(examined)
}

/// Refuses an agent that other people can change. The check of the root reports the directories above it.
fn owner(store: &Store, id: &AgentId) -> Result<(), Error> {
    if store.refuse_foreign(None).is_err() {
        return Ok(());
    }
    store.refuse_foreign_agent(id)?;
    let version = store.agent(id).ok().flatten().map(|agent| agent.current);
    store.refuse_foreign(version.as_ref())
}

fn look_at(found: Candidate, current: Option<&String>, environment: &Environment, examined: &mut DiagnosedAgent) {
    let is_current = current == Some(&found.folder);
    let help = help(&found, current, &examined.id);
    let version = match found.version {
        Ok(Some(version)) => version,
        Ok(None) => {
            let message = format!("{} has no receipt, and counts as nothing", quote(&found.folder));
            let status = if is_current { CheckStatus::Error } else { CheckStatus::Warning };
            return examined.add(Diagnosis { name: "receipt", status, message, help: Some(help) });
        }
        Err(error) => return examined.add(broken("receipt", &error, help)),
    };
    let receipt = &version.receipt;
    if is_current {
        examined.version = Some(receipt.version.clone());
    }
    let problem = program(&version, &help)
        .or_else(|| interpreter(&version, environment, &help))
        .or_else(|| damages(&version, &help))
        .map(|(name, message, help)| Diagnosis::error(name, format!("{}: {message}", quote(&receipt.version)), help));
    if let Some(check) = problem {
        return examined.add(check);
    }
    let message = format!("{} is as it was installed; {}", quote(&receipt.version), proof(&version));
    examined.add(Diagnosis::ok("files", message));
    if is_current {
        remarks(&version, environment, examined);
        examined.startable = Some(version);
    }
}

/// What helps where a version is not what was installed. Only what this program has made is to be removed.
fn help(found: &Candidate, current: Option<&String>, id: &str) -> String {
    if current.is_none_or(|current| *current == found.folder) {
        found.version.as_ref().ok().and_then(Option::as_ref).map_or_else(|| repair(id), repair_version)
    } else if found.is_ours {
        "`acp-registry gc` removes it: another version is started".to_owned()
    } else {
        "nothing needs to be done: another version is started".into()
    }
}

/// A name of a check, a message, and what helps.
type CheckProblem = (&'static str, String, String);

fn repair_version(version: &Version) -> String {
    format!("{} repairs it", version.receipt.repair_command())
}

fn repair(id: &str) -> String {
    format!("{} repairs it", repair_command(id))
}

fn program(version: &Version, help: &str) -> Option<CheckProblem> {
    let (path, receipt) = (version.program(), &version.receipt);
    let shown = quote(&receipt.program);
    let help = help.to_owned();
    match path.metadata() {
        Err(error) => Some(("program", format!("its program {shown} is not there ({error})"), help)),
        Ok(file) if !file.is_file() => Some(("program", format!("its program {shown} is not a file"), help)),
        Ok(file) if file.len() != receipt.program_size => {
            let (size, wanted) = (file.len(), receipt.program_size);
            Some(("program", format!("its program {shown} has {size} bytes, and was installed with {wanted}"), help))
        }
        // An interpreter only reads it. That a script's own interpreter is gone is found by starting it.
        Ok(_) => {
            let obstacle = find_obstacle(version).filter(|obstacle| !matches!(obstacle, Obstacle::NoInterpreter(_)))?;
            let help = match &obstacle {
                Obstacle::NotExecutable => {
                    let chmod = format!("`chmod +x '{}'` makes it so; or ", printable(&path.display().to_string()));
                    format!("{chmod}{help}")
                }
                Obstacle::NoExec => {
                    "name a directory on another file system with --root or ACP_REGISTRY_ROOT".to_owned()
                }
                Obstacle::NoInterpreter(_) => help,
            };
            Some(("program", format!("its program {shown} {obstacle}"), help))
        }
    }
}

/// Why a version that is there cannot be started, and what helps; `None` if no reason is known.
#[must_use]
pub fn obstacle(version: &Version, environment: &Environment) -> Option<(String, String)> {
    let help = repair_version(version);
    let found = program(version, &help).or_else(|| interpreter(version, environment, &help));
    let found = found.or_else(|| damages(version, &help)).map(|(_, message, help)| (message, help));
    let gone = || {
        let text = format!("its program {} {}", quote(&version.receipt.program), find_obstacle(version)?);
        Some((printable(&text).into_owned(), format!("if its directory was moved, {help}")))
    };
    found.or_else(gone)
}

fn find_obstacle(version: &Version) -> Option<Obstacle> {
    Obstacle::find(&version.program()).filter(|_| version.receipt.interpreter.is_none())
}

/// What may keep the version that is started from working, although it is what was installed.
fn remarks(version: &Version, environment: &Environment, examined: &mut DiagnosedAgent) {
    let receipt = &version.receipt;
    let shown = quote(&receipt.version);
    if let Some(interpreter) = &receipt.interpreter
        && version.is_repairable(environment)
        && let Ok(start) = version.find_start(|| environment.clone())
    {
        let now = start.program.display().to_string();
        let gone = if interpreter.program.is_file() { "" } else { ", which is gone" };
        let message =
            format!("{shown} is started by {}, no longer by {}{gone}", printable(&now), recorded(interpreter));
        examined.add(Diagnosis::warning("runtime", message, "`acp-registry doctor --fix` keeps that in its receipt"));
    } else if let Some(shortfall) = receipt.interpreter.as_ref().and_then(Interpreter::shortfall) {
        let help = format!("{}: the next start uses it", remedy::newer(&shortfall));
        examined.add(Diagnosis::warning("runtime", format!("{shown} {shortfall}"), help));
    }
    let scripts = &receipt.remarks.scripts_not_run;
    if !scripts.is_empty() {
        let help = scripts
            .remedy(&receipt.id)
            .unwrap_or_else(|| "its makers may have to name that package; npm 11 runs such scripts".into());
        let help = format!("if the agent does not start, {help}");
        examined.add(Diagnosis::warning("scripts", scripts.message(), help));
    }
}

fn interpreter(version: &Version, environment: &Environment, help: &str) -> Option<CheckProblem> {
    if version.has_lost_python() {
        return Some(("runtime", "the Python that it was installed with is gone".to_owned(), help.to_owned()));
    }
    let missing = version.find_start(|| environment.clone()).err()?;
    let recorded = version.receipt.interpreter.as_ref().map(recorded).unwrap_or_default();
    let message = format!("it needs {}, which is not in PATH any more: it was {recorded}", quote(&missing));
    let help = if missing == "node" { remedy::NODE.to_owned() } else { format!("install {}", name(&missing)) };
    Some(("runtime", message, help))
}

/// The interpreter that a receipt names, with its version.
fn recorded(interpreter: &Interpreter) -> String {
    let version = interpreter.version.as_deref().map(|version| format!(" ({})", name(version))).unwrap_or_default();
    format!("{}{version}", printable(&interpreter.program.display().to_string()))
}

fn damages(version: &Version, help: &str) -> Option<CheckProblem> {
    let damages = match version.damages() {
        Ok(damages) if damages.is_empty() => return None,
        Ok(damages) => damages,
        Err(error) => return Some(("files", describe(&error), help.to_owned())),
    };
    let describe = |damage: &Damage| match damage {
        Damage::Missing(path) => format!("{} is gone", quote(path)),
        Damage::Changed(path) => format!("{} has other content than was installed", quote(path)),
        Damage::Unreadable(path) => format!("{} cannot be read", quote(path)),
    };
    Some(("files", brief_list(damages.iter().map(describe), NAMED), help.to_owned()))
}

/// How the installed bytes were verified.
fn proof(version: &Version) -> &'static str {
    match version.receipt.proof.verified {
        DigestSource::Manifest => "its archive had the digest of the manifest",
        DigestSource::Github => "its archive had the digest that GitHub states",
        DigestSource::Lock => "it had the digests of a lock file",
        DigestSource::Npm => "npm has compared its integrity value",
        DigestSource::Pypi => "uv has fetched it from the Python package index",
        DigestSource::None => "no digest of its archive was known",
    }
}

fn broken(name: &'static str, error: &Error, help: String) -> Diagnosis {
    let is_of_agent = matches!(error, Error::Damaged { .. } | Error::Foreign { .. });
    let help = if is_of_agent { Some(help) } else { error.remedy() };
    Diagnosis { name, status: CheckStatus::Error, message: describe(error), help }
}

fn describe(error: &Error) -> String {
    let text = match error {
        Error::Foreign { path, problem } => format!("{} {problem}", path.display()),
        error => error.to_string(),
    };
    printable(&text).into_owned()
}

/// A name in a command, printable.
fn name(text: &str) -> String {
    escape(text)
}
