//! How an agent is started, as a JSON document that clients read.

use std::path::Path;

use acp_registry::index::Index;
use acp_registry::install::Source;
use acp_registry::resolve::Plan;
use acp_registry::session::Session;
use acp_registry::store::{Launch, Store, Version};
use acp_registry::timestamp::Timestamp;
use serde_json::{Map, Value, json};

use super::exit::Failure;

/// The document about an installed version.
pub(super) fn installed(version: &Version, session: &Session) -> Result<Map<String, Value>, Failure> {
    let (launch, receipt) = (session.launch(version)?, &version.receipt);
    let env: Map<String, Value> = launch.env.into_iter().map(|(name, value)| (name, value.into())).collect();
    Ok(members(json!({
        "id": receipt.id, "version": receipt.version, "distribution": receipt.distribution,
        "platform": receipt.platform, "program": launch.program, "args": launch.args, "env": env,
        "installed": true, "install_dir": version.directory, "archive": receipt.archive, "package": receipt.package,
        "sha256": receipt.sha256, "integrity": receipt.integrity, "verified": receipt.verified,
        "index_sha256": receipt.index_sha256, "installed_at": receipt.installed_at, "size": receipt.size,
        "scripts_not_run": receipt.scripts_not_run, "scripts_ignored_by": receipt.scripts_ignored_by,
        "answers": receipt.answers,
    })))
}

/// The document about a plan. What an installation has yet to find out is null.
pub(super) fn planned(plan: &Plan, session: &Session) -> Result<Map<String, Value>, Failure> {
    let store = &session.store;
    store.refuse_changed(plan)?;
    if let Some(mut version) = store.installed(plan)? {
        version.receipt.follow(plan);
        return installed(&version, session);
    }
    let place = store.place(&plan.id, &plan.folder());
    let env: Map<String, Value> =
        plan.source.variables().iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
    let (archive, package, program, sha256, verified) = match &plan.source {
        Source::Binary(target) => {
            let program = program(&Store::files(&place), &target.cmd);
            let verified = match (&target.sha256, &plan.expected.sha256) {
                (Some(_), _) => "manifest",
                (None, Some(_)) => "lock",
                (None, None) => "none",
            };
            let sha256 = target.sha256.as_ref().or(plan.expected.sha256.as_ref());
            (Some(&target.archive), None, Some(program), sha256.map(|digest| digest.to_ascii_lowercase()), verified)
        }
        Source::Npx(package) | Source::Uvx(package) => {
            let usual = if matches!(plan.source, Source::Npx(_)) { "npm" } else { "pypi" };
            let verified = if plan.expected.packages.is_some() { "lock" } else { usual };
            (None, Some(&package.package), None, None, verified)
        }
    };
    Ok(members(json!({
        "id": plan.id, "version": plan.version, "distribution": plan.kind().as_str(),
        "platform": plan.platform.map(acp_registry::manifest::Platform::as_str),
        "program": program, "args": plan.source.arguments(), "env": env,
        "installed": false, "install_dir": place, "archive": archive, "package": package,
        "sha256": sha256, "integrity": null, "verified": verified,
        "index_sha256": plan.index_sha256,
    })))
}

/// The member `index` of documents that are made from an index.
pub(super) fn index(index: &Index) -> Value {
    let fetched_at = index.origin.fetched_at.and_then(Timestamp::of).map(|time| time.to_string());
    json!({
        "source": index.origin.source, "sha256": index.sha256(), "fetched_at": fetched_at,
        "stale": index.origin.is_stale,
    })
}

/// How old the index is, for people; a clock that has gone back makes it new.
pub(super) fn age(index: &Index) -> Option<String> {
    let age = acp_registry::report::age(index.origin.fetched_at?.elapsed().unwrap_or_default());
    Some(if index.origin.is_stale { format!("{age}, and there may be a newer one") } else { age })
}

/// A document of a command with these members.
pub(super) fn document(command: &str, members: Map<String, Value>) -> String {
    let mut document = Map::new();
    document.insert("schema".to_owned(), 1.into());
    document.insert("command".to_owned(), command.into());
    document.extend(members);
    acp_registry::json::to_string(&Value::Object(document))
}

/// A command line for people to read, and to paste into a shell.
pub(super) fn command_line(launch: &Launch) -> String {
    let variables = launch.env.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
    let words = [launch.program.to_string_lossy().into_owned()].into_iter().chain(launch.args.iter().cloned());
    variables.chain(words.map(|word| quoted(&word))).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,\\".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Where an archive's program will be: its path as the manifest has it, which is looked at when the archive is there.
fn program(files: &Path, cmd: &str) -> std::path::PathBuf {
    let parts = cmd.split(['/', '\\']).filter(|part| !["", ".", ".."].contains(part));
    parts.fold(files.to_owned(), |path, part| path.join(part))
}

fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}
