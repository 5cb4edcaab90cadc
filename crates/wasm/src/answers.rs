//! Documents for indexes and requests.

use std::path::Path;

use acp_registry_plan::documents::{AgentList, Document, IndexOrigin, Launch, ListedAgent, Resolve};
use acp_registry_plan::failure::{Code, Failure};
use acp_registry_plan::index::{FormError, Index, Missing};
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
            let failure = Failure::unable(format!("the text {error}")).code(Code::InvalidIndex);
            (None, Document::failed_command(Some("list"), failure).to_text())
        }
    }
}

/// The document of `resolve`.
pub(crate) fn resolve(request: &[u8], index: Option<&Index>) -> String {
    let resolved = index.ok_or_else(|| Failure::usage("there is no index")).and_then(|index| {
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

fn plan(request: &[u8], index: &Index) -> Result<Plan, Failure> {
    if request.len() > REQUEST_LIMIT {
        return Err(Failure::usage(format!("the request is longer than {REQUEST_LIMIT} bytes")));
    }
    let request: PlanRequest =
        serde_json::from_slice(request).map_err(|error| Failure::usage(format!("the request: {error}")))?;
    let named: AgentSpec = request.agent.parse().map_err(|error| Failure::usage(format!("agent: {error}")))?;
    let platform: Platform = request.platform.parse().map_err(|error| Failure::usage(format!("platform: {error}")))?;
    let kind =
        |name: &String| Kind::named(name).ok_or_else(|| Failure::usage(format!("{} is not a kind", quote(name))));
    let kind = request.dist.as_ref().map(kind).transpose()?;
    let missing = || Missing::of(&named.id, index);
    let agent = index.agent(&named.id)?.ok_or_else(missing)?;
    let id = named.id.parse().map_err(|_| missing())?;
    let host = Host {
        platform: Some(platform),
        emulated: None,
        lacks_glibc: false,
        has_npm: request.npm.unwrap_or(true),
        has_uv: request.uv.unwrap_or(true),
    };
    let wanted = PlanOptions { version: named.version.clone(), kind, platform: Some(platform), ..PlanOptions::new(id) };
    Ok(resolve::resolve(&Offer::from_agent(&agent, index.sha256()), &wanted, &host)?)
}
