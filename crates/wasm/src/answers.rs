//! Documents for indexes and requests.

use std::path::Path;

use acp_registry_plan::documents::{AgentList, Document, Error, IndexOrigin, Launch, ListedAgent, Resolve};
use acp_registry_plan::index::{EntryError, FormError, Index, Missing};
use acp_registry_plan::manifest::Platform;
use acp_registry_plan::resolve::{self, AgentSpec, Host, Kind, Offer, Plan, PlanOptions};
use acp_registry_plan::text::quote;
use serde::Deserialize;

/// The largest request, in bytes.
const REQUEST_LIMIT: usize = 64 << 10;

/// A request, with the names of the parameters of `rpc` and the flags of `resolve`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanRequest {
    agent: String,
    platform: String,
    dist: Option<String>,
    /// Whether Node.js and npm are there; `None` if that is not known.
    npm: Option<bool>,
    /// Whether uv is there; `None` if that is not known.
    uv: Option<bool>,
}

/// The index in a text, and the document of `list`.
pub(crate) fn open(text: Vec<u8>) -> (Option<Index>, String) {
    let text = String::from_utf8(text).map_err(|error| FormError::of(&error));
    match text.and_then(Index::parse) {
        Ok(index) => {
            let members = AgentList {
                index: IndexOrigin::of(&index),
                index_sha256: index.sha256(),
                agents: index.entries().map(|entry| ListedAgent::of(entry, None, false)).collect(),
                notes: &index.notes,
            };
            let document = Document::new("list", members).to_text();
            (Some(index), document)
        }
        Err(error) => {
            let failure = failure("invalid_index", format!("the text {error}"), None, Vec::new());
            (None, Document::failed_command(Some("list"), failure).to_text())
        }
    }
}

/// The document of `resolve`.
pub(crate) fn resolve(request: &[u8], index: Option<&Index>) -> String {
    let resolved = index.ok_or_else(|| usage("there is no index".to_owned())).and_then(|index| {
        let plan = plan(request, index)?;
        // Without a machine, paths begin where the archive was unpacked.
        let launch = Launch::planned(&plan, Path::new(""), Path::new(""));
        Ok(Resolve { launch, index: IndexOrigin::of(index) })
    });
    match resolved {
        Ok(members) => Document::new("resolve", members).to_text(),
        Err(failure) => Document::failed_command(Some("resolve"), failure).to_text(),
    }
}

fn plan(request: &[u8], index: &Index) -> Result<Plan, Error> {
    if request.len() > REQUEST_LIMIT {
        return Err(usage(format!("the request is longer than {REQUEST_LIMIT} bytes")));
    }
    let request: PlanRequest =
        serde_json::from_slice(request).map_err(|error| usage(format!("the request: {error}")))?;
    let named: AgentSpec = request.agent.parse().map_err(|error| usage(format!("agent: {error}")))?;
    let platform: Platform = request.platform.parse().map_err(|error| usage(format!("platform: {error}")))?;
    let kind = |name: &String| Kind::named(name).ok_or_else(|| usage(format!("{} is not a kind", quote(name))));
    let kind = request.dist.as_ref().map(kind).transpose()?;
    let missing = || missing_error(Missing::of(&named.id, index));
    let agent = index.agent(&named.id).map_err(|error| entry_error(&error))?.ok_or_else(missing)?;
    let id = named.id.parse().map_err(|_| missing())?;
    let host = Host {
        platform: Some(platform),
        emulated: None,
        lacks_glibc: false,
        has_npm: request.npm.unwrap_or(true),
        has_uv: request.uv.unwrap_or(true),
    };
    let wanted = PlanOptions { version: named.version.clone(), kind, platform: Some(platform), ..PlanOptions::new(id) };
    resolve::resolve(&Offer::from_agent(&agent, index.sha256()), &wanted, &host).map_err(|error| resolve_error(&error))
}

fn entry_error(error: &EntryError) -> Error {
    failure("invalid_index", error.to_string(), None, Vec::new())
}

fn missing_error(missing: Missing) -> Error {
    let message = missing.to_string();
    let near = if let Missing::UnknownAgent { near, .. } = missing { near } else { Vec::new() };
    failure("unknown_agent", message, None, near)
}

fn resolve_error(error: &resolve::Error) -> Error {
    use resolve::Error;
    let (code, suggestions) = match error {
        Error::UnknownVersion { known, .. } => ("unknown_version", known.clone()),
        Error::UnsupportedPlatform { .. } => ("unsupported_platform", Vec::new()),
        Error::NoSuchKind { .. } => ("unsupported_distribution", Vec::new()),
        Error::MissingRuntime { .. } => ("missing_runtime", Vec::new()),
        Error::ReservedVariable { .. } => ("refused", Vec::new()),
    };
    failure(code, error.to_string(), error.remedy().map(|remedy| remedy.to_string()), suggestions)
}

fn usage(message: String) -> Error {
    failure("usage", message, None, Vec::new())
}

/// The `error` of a document, as the command line has it, with neutral words in `help`.
fn failure(code: &'static str, message: String, help: Option<String>, suggestions: Vec<String>) -> Error {
    let exit_code = match code {
        "refused" => 4,
        "invalid_index" | "missing_runtime" => 3,
        _ => 2,
    };
    let meant = || suggestions.first().map(|name| format!("did you mean {}?", quote(name)));
    let help = help.or_else(meant);
    Error { code, exit_code, message, help, suggestions }
}
