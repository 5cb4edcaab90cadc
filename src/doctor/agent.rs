//! One installed agent, as it lies there.

use super::{Check, Examined, Status};
use crate::install::{Verified, remedy};
use crate::store::{Damage, Error, Found, Store, Version};
use crate::sys::fs::PathError;
use crate::sys::process::{Environment, is_executable};
use crate::text::{printable, quote};

/// How many damaged files are named.
const NAMED: usize = 3;

/// Looks at an agent of [`Store::ids`]: its receipts, its programs, and every file whose digest was kept.
///
/// # Errors
/// [`PathError`] when its directory cannot be read.
pub fn installed(store: &Store, id: &str, environment: &Environment) -> Result<Examined, PathError> {
    let remains = store.examine(id)?;
    let mut examined = Examined {
        id: id.to_owned(),
        version: None,
        status: Status::Ok,
        checks: Vec::new(),
        handshake: None,
        startable: None,
    };
    if !remains.leftovers.is_empty() {
        let message = "an interrupted installation has left files";
        examined.add(Check::warning("leftovers", message, "`acp-registry gc` removes them"));
    }
    let again = format!("`acp-registry install {}` installs it again", name(id));
    let current = match remains.current {
        Ok(current) => current,
        Err(error) => {
            examined.add(broken("current", &error));
            None
        }
    };
    match &current {
        Some(folder) if !remains.versions.iter().any(|found| found.folder == *folder) => {
            let message = format!("the version that is started, {}, is gone", quote(folder));
            examined.add(Check::error("current", message, again.as_str()));
        }
        None if examined.status != Status::Error => {
            examined.add(Check::error("current", "no version is there to be started", again.as_str()));
        }
        _ => {}
    }
    for found in remains.versions {
        let is_current = current.as_ref() == Some(&found.folder);
        look_at(found, is_current, &again, environment, &mut examined);
    }
    Ok(examined)
}

fn look_at(found: Found, is_current: bool, again: &str, environment: &Environment, examined: &mut Examined) {
    let version = match found.version {
        Ok(Some(version)) => version,
        Ok(None) => {
            let message = format!("{} has no receipt, and counts as nothing", quote(&found.folder));
            let check = if is_current {
                Check::error("receipt", message, again)
            } else {
                Check::warning("receipt", message, "`acp-registry gc` removes it")
            };
            return examined.add(check);
        }
        Err(error) => return examined.add(broken("receipt", &error)),
    };
    let receipt = &version.receipt;
    if is_current {
        examined.version = Some(receipt.version.clone());
    }
    if receipt.id != examined.id {
        let message = format!("the receipt in {} is of another agent, {}", quote(&found.folder), quote(&receipt.id));
        return examined.add(Check::error("receipt", message, afresh(&examined.id)));
    }
    let problem = program(&version)
        .or_else(|| interpreter(&version, environment))
        .or_else(|| damages(&version))
        .map(|(name, message, help)| Check::error(name, format!("{}: {message}", quote(&receipt.version)), help));
    if let Some(check) = problem {
        return examined.add(check);
    }
    let message = format!("{} is as it was installed; {}", quote(&receipt.version), proof(&version));
    examined.add(Check::ok("files", message));
    if is_current {
        examined.startable = Some(version);
    }
}

/// A name of a check, a message, and what helps.
type Problem = (&'static str, String, String);

fn program(version: &Version) -> Option<Problem> {
    let (path, receipt) = (version.program(), &version.receipt);
    let shown = quote(&receipt.program);
    let help = afresh(&receipt.id);
    match path.metadata() {
        Err(error) => Some(("program", format!("its program {shown} is not there ({error})"), help)),
        Ok(file) if !file.is_file() => Some(("program", format!("its program {shown} is no file"), help)),
        Ok(file) if file.len() != receipt.program_size => {
            let (size, wanted) = (file.len(), receipt.program_size);
            Some(("program", format!("its program {shown} has {size} bytes, and was installed with {wanted}"), help))
        }
        // An interpreter only reads it.
        Ok(_) if receipt.interpreter.is_none() && !is_executable(&path) => {
            let shown_path = path.display().to_string();
            let help = format!("`chmod +x '{}'` makes it so; or {}", printable(&shown_path), help);
            Some(("program", format!("its program {shown} is not executable"), help))
        }
        Ok(_) => None,
    }
}

fn interpreter(version: &Version, environment: &Environment) -> Option<Problem> {
    let missing = version.launch(|| environment.clone()).err()?;
    let message = format!("it needs {}, which is not in PATH any more", quote(&missing));
    let help = if missing == "node" { remedy::NODE.to_owned() } else { format!("install {}", name(&missing)) };
    Some(("runtime", message, help))
}

fn damages(version: &Version) -> Option<Problem> {
    let id = &version.receipt.id;
    let damages = match version.damages() {
        Ok(damages) if damages.is_empty() => return None,
        Ok(damages) => damages,
        Err(error) => return Some(("files", printable(&error.to_string()).into_owned(), afresh(id))),
    };
    let named: Vec<String> = damages
        .iter()
        .take(NAMED)
        .map(|damage| match damage {
            Damage::Missing(path) => format!("{} is gone", quote(path)),
            Damage::Changed(path) => format!("{} has other content than was installed", quote(path)),
            Damage::Unreadable(path) => format!("{} cannot be read", quote(path)),
        })
        .collect();
    let more = damages.len() - named.len();
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    Some(("files", format!("{}{more}", named.join(", ")), afresh(id)))
}

/// By what is known that the right bytes were installed.
fn proof(version: &Version) -> &'static str {
    match version.receipt.verified() {
        Verified::Manifest => "its archive had the digest of the manifest",
        Verified::Github => "its archive had the digest that GitHub states",
        Verified::Lock => "it had the digests of a lock file",
        Verified::Npm => "npm has compared its integrity value",
        Verified::Pypi => "uv has fetched it from the Python package index",
        Verified::None => "nobody had said what its archive must be",
    }
}

/// The help where a file of the store is broken stands in the message.
fn broken(name: &'static str, error: &Error) -> Check {
    Check { name, status: Status::Error, message: printable(&error.to_string()).into_owned(), help: None }
}

fn afresh(id: &str) -> String {
    let id = name(id);
    format!("`acp-registry uninstall {id}`, then `acp-registry install {id}`: what is there is not repaired")
}

/// A name in a command, printable.
fn name(text: &str) -> String {
    quote(text).trim_matches('`').to_owned()
}
