//! The JSON documents of commands, as described by `schemas/cli/`. Members are serialized in declaration order.
//!
//! Every type is built from typed results and serializes to the published form. The parts that several documents share
//! are [`Document`], [`Error`], [`Launch`] and [`IndexOrigin`].

use std::borrow::Cow;
use std::collections::BTreeSet;

use acp_registry::check::{Example, Rule};
use acp_registry::doctor::{DiagnosedAgent, Diagnosis};
pub(crate) use acp_registry::documents::{
    About, AgentList, Document, IndexOrigin, Launch, ListedAgent, Resolve, kinds,
};
use acp_registry::examination::{Check, Examination, Force, Level};
use acp_registry::failure::{AgentFailure, Failure};
use acp_registry::handshake::{AuthMethod, Outcome};
use acp_registry::index::Entry;
use acp_registry::manifest::AgentId;
use acp_registry::store::{self, Freed, Removed, StoredAgent};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Members of `probe`.
#[derive(Debug, Serialize)]
pub(crate) struct ProbeDocument<'a> {
    /// The outcome of the handshake.
    #[serde(flatten)]
    pub(crate) outcome: &'a Outcome,
    /// The results of its examination, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) examination: Option<&'a Examination>,
}

/// Members of `doctor`.
#[derive(Debug, Serialize)]
pub(crate) struct Doctor<'a> {
    /// The checks of this machine.
    pub(crate) checks: &'a [Diagnosis],
    /// The agents.
    pub(crate) agents: &'a [DiagnosedAgent],
    /// The agents that could not be repaired, and why.
    pub(crate) errors: Vec<AgentFailure>,
}

/// Members of `login` if the caller has to choose a method.
#[derive(Debug, Serialize)]
pub(crate) struct MethodChoice<'a> {
    /// The agent.
    pub(crate) id: &'a str,
    /// The methods that the agent offers.
    pub(crate) methods: &'a [AuthMethod],
}

/// An installed agent, for `list --installed`.
#[derive(Debug, Serialize)]
pub(crate) struct InstalledAgent<'a> {
    #[serde(flatten)]
    launch: Launch,
    #[serde(flatten)]
    about: About<'a>,
    installed_version: &'a str,
    pinned: bool,
}

impl<'a> InstalledAgent<'a> {
    /// Combines an installed agent with its entry in the index, if any.
    pub(crate) fn of(launch: Launch, entry: Option<&'a Entry>, agent: &'a StoredAgent) -> Self {
        let about = entry.map(About::of).unwrap_or_default();
        Self { launch, about, installed_version: &agent.current.receipt.version, pinned: agent.is_pinned }
    }
}

/// Members of `list --installed`.
#[derive(Debug, Serialize)]
pub(crate) struct InstalledList<'a> {
    /// The index, if one could be read.
    pub(crate) index: Option<IndexOrigin>,
    /// The installed agents.
    pub(crate) agents: Vec<InstalledAgent<'a>>,
    /// The agents that cannot be read, and why.
    pub(crate) errors: Vec<AgentFailure>,
}

/// An installed version, for `info`.
#[derive(Debug, Serialize)]
pub(crate) struct InstalledVersion<'a> {
    version: &'a str,
    distribution: &'a str,
    verified: &'a str,
    install_dir: &'a std::path::Path,
    size: u64,
    installed_at: &'a str,
    current: bool,
}

impl<'a> InstalledVersion<'a> {
    /// Describes a version. `is_current` tells whether it is the version that is started.
    pub(crate) fn of(version: &'a store::Version, is_current: bool) -> Self {
        let receipt = &version.receipt;
        Self {
            version: &receipt.version,
            distribution: &receipt.distribution,
            verified: &receipt.verified,
            install_dir: &version.directory,
            size: receipt.size,
            installed_at: &receipt.installed_at,
            current: is_current,
        }
    }
}

/// Members of `info`.
#[derive(Debug, Serialize)]
pub(crate) struct Info<'a> {
    /// The agent.
    pub(crate) id: &'a str,
    /// The version that this document describes.
    pub(crate) version: &'a str,
    /// The source of a requested version; `None` if the current entry is shown.
    pub(crate) known_from: Option<&'a str>,
    /// The entry of the index, unchanged.
    pub(crate) agent: &'a Value,
    /// The installed versions.
    pub(crate) installed: Vec<InstalledVersion<'a>>,
    /// Whether the agent is pinned.
    pub(crate) pinned: bool,
    /// SHA-256 of the index.
    pub(crate) index_sha256: &'a str,
    /// The index.
    pub(crate) index: IndexOrigin,
}

/// Members of `config`.
#[derive(Debug, Serialize)]
pub(crate) struct Config<'a> {
    /// The id of the client.
    pub(crate) client: &'a str,
    /// The id of the agent.
    pub(crate) id: &'a str,
    /// The display name of the agent.
    pub(crate) name: &'a str,
    /// The version that the settings start today, if known.
    pub(crate) version: Option<&'a str>,
    /// Whether the agent is installed.
    pub(crate) installed: bool,
    /// The language that the settings are written in.
    pub(crate) language: &'a str,
    /// The file that the settings belong in, if known.
    pub(crate) file: Option<&'a str>,
    /// The text of the settings.
    pub(crate) settings: &'a str,
    /// What the settings start: `program`, `package` or `run`.
    pub(crate) starts: &'static str,
    /// The program that the settings start.
    pub(crate) program: &'a str,
    /// The arguments of the program.
    pub(crate) args: &'a [String],
    /// The environment variables that the settings set.
    pub(crate) env: Map<String, Value>,
    /// The index, if one could be read.
    pub(crate) index: Option<IndexOrigin>,
}

/// An event of `--progress json`, written as one line of JSON.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub(crate) enum Event<'a> {
    /// Progress of an installation.
    Installing {
        /// The id of the agent.
        id: &'a str,
        /// The version; only with [`Stage::Started`].
        #[serde(skip_serializing_if = "Option::is_none")]
        version: Option<&'a str>,
        /// The stage of the installation.
        #[serde(flatten)]
        stage: Stage<'a>,
    },
    /// Progress of the check of an agent.
    Checking {
        /// The agent and its distribution.
        name: &'a str,
        /// `installing`, `starting` or `done`.
        phase: &'static str,
        /// Progress of the installation, in the words of npm or uv.
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<&'a str>,
    },
    /// Progress of requests to package registries and hosts.
    Asking {
        /// Requests known so far.
        planned: u64,
        /// Requests that were answered.
        answered: u64,
    },
    /// Progress of an upload.
    Sending {
        /// Files known so far.
        planned: u64,
        /// Files that were sent.
        sent: u64,
    },
    /// An informational message.
    Note {
        /// The text.
        message: &'a str,
    },
    /// A warning; the command can still succeed.
    Warning {
        /// The text.
        message: &'a str,
    },
    /// A failure that does not stop the command.
    #[serde(rename = "warning")]
    Failing {
        /// The failure.
        message: &'a str,
        /// One command or edit that may fix it.
        help: Option<String>,
    },
    /// Text written for people.
    Text {
        /// The text.
        message: &'a str,
    },
    /// An error that has a message only.
    Error {
        /// The message.
        message: &'a str,
    },
    /// The error that ended the command.
    #[serde(rename = "error")]
    Failed(Failure),
    /// The error for one agent.
    #[serde(rename = "error")]
    AgentFailed(AgentFailure),
}

/// A stage of an installation.
#[derive(Debug, Serialize)]
#[serde(tag = "phase", rename_all = "lowercase")]
pub(crate) enum Stage<'a> {
    /// The installation has started.
    Started,
    /// An archive is being downloaded.
    Downloading {
        /// Bytes received so far.
        received: u64,
        /// Size of the archive in bytes, if known.
        total: Option<u64>,
    },
    /// An archive is being unpacked.
    Unpacking,
    /// A package manager is running.
    Running {
        /// The name of the package manager.
        program: &'a str,
        /// Its progress, in its own words.
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<&'a str>,
    },
    /// The installation has ended, successfully or not.
    Ended,
}

/// Members of `which`.
#[derive(Debug, Serialize)]
pub(crate) struct Which {
    /// The command line and the origin of the installed version.
    #[serde(flatten)]
    pub(crate) launch: Launch,
    /// Whether the agent is pinned.
    pub(crate) pinned: bool,
}

/// Members of `install`.
#[derive(Debug, Serialize)]
pub(crate) struct Install {
    /// The agent, if it is the only result and there is no error. Its members are then also at the top level, as in
    /// `resolve`.
    #[serde(flatten)]
    alone: Option<Launch>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dry_run: Option<bool>,
    agents: Vec<Launch>,
    errors: Vec<AgentFailure>,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<IndexOrigin>,
}

impl Install {
    /// The result of a dry run.
    pub(crate) fn planned(agents: Vec<Launch>, index: Option<IndexOrigin>) -> Self {
        Self { alone: None, dry_run: Some(true), agents, errors: Vec::new(), index }
    }

    /// The result of an installation: the installed agents, and the errors of the others.
    pub(crate) fn installed(agents: Vec<Launch>, errors: Vec<AgentFailure>, index: Option<IndexOrigin>) -> Self {
        let alone = if let ([agent], []) = (agents.as_slice(), errors.as_slice()) { Some(agent.clone()) } else { None };
        Self { alone, dry_run: None, agents, errors, index }
    }
}

/// A version that was removed or kept.
#[derive(Debug, Serialize)]
struct RemovedVersion<'a> {
    id: &'a str,
    version: &'a str,
    size: u64,
    /// Clients whose settings name the program of this version; `None` in lists that are not about them.
    #[serde(skip_serializing_if = "Option::is_none")]
    clients: Option<&'a BTreeSet<String>>,
}

impl<'a> RemovedVersion<'a> {
    fn of(one: &'a Removed) -> Self {
        Self { id: &one.id, version: &one.version, size: one.bytes, clients: None }
    }

    fn named((one, clients): &'a (Removed, BTreeSet<String>)) -> Self {
        Self { clients: Some(clients), ..Self::of(one) }
    }
}

/// A cache of this program.
#[derive(Debug, Serialize)]
pub(crate) struct Cached {
    /// `packages`, `answers` or `indexes`.
    pub(crate) name: &'static str,
    /// Bytes that it holds.
    pub(crate) size: u64,
    /// Bytes that were freed in it; in a dry run, those that would be.
    pub(crate) freed_bytes: u64,
}

/// Members of `uninstall` and `gc`.
#[derive(Debug, Serialize)]
pub(crate) struct Removal<'a> {
    dry_run: bool,
    removed: Vec<RemovedVersion<'a>>,
    running: Vec<RemovedVersion<'a>>,
    named: Vec<RemovedVersion<'a>>,
    still_named: Vec<RemovedVersion<'a>>,
    freed_bytes: u64,
    kept: Vec<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ids: Option<Vec<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    freed_cache_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    caches: Option<&'a [Cached]>,
    errors: Vec<AgentFailure>,
}

impl<'a> Removal<'a> {
    /// Describes the freed space. In a dry run, it is the space that would be freed.
    pub(crate) fn of(freed: &'a Freed, is_dry_run: bool, errors: Vec<AgentFailure>) -> Self {
        Self {
            dry_run: is_dry_run,
            removed: freed.removed.iter().map(RemovedVersion::of).collect(),
            running: freed.running.iter().map(RemovedVersion::of).collect(),
            named: freed.named.iter().map(RemovedVersion::named).collect(),
            still_named: freed.still_named.iter().map(RemovedVersion::named).collect(),
            freed_bytes: freed.bytes,
            kept: freed.foreign.iter().map(|path| path.to_string_lossy()).collect(),
            ids: None,
            freed_cache_bytes: None,
            caches: None,
            errors,
        }
    }

    /// Sets the ids of the uninstalled agents.
    pub(crate) fn agents(self, ids: Vec<&'a str>) -> Self {
        Self { ids: Some(ids), ..self }
    }

    /// Sets the caches, and the number of bytes that were freed in those of npm and uv.
    pub(crate) fn caches(self, caches: &'a [Cached]) -> Self {
        let packages = caches.iter().filter(|cache| cache.name == "packages");
        let freed = packages.map(|cache| cache.freed_bytes).sum();
        Self { freed_cache_bytes: Some(freed), caches: Some(caches), ..self }
    }
}

/// The `jsonrpc` member of all messages.
const VERSION: &str = "2.0";

/// Members of `initialize`.
#[derive(Debug, Serialize)]
pub(crate) struct Interface {
    /// The name of this program.
    pub(crate) name: &'static str,
    /// Its version.
    pub(crate) version: &'static str,
    /// The version of the methods, parameters and results. It changes only with a change that breaks clients.
    pub(crate) protocol_version: u32,
    /// The names of all methods.
    pub(crate) methods: Vec<&'static str>,
}

/// The answer to a request.
#[derive(Debug, Serialize)]
pub(crate) struct Response<'a> {
    jsonrpc: &'static str,
    id: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<RpcErrorDocument<'a>>,
}

impl<'a> Response<'a> {
    /// A result: the document of a command.
    pub(crate) fn result(id: &'a Value, document: &'a RawValue) -> Self {
        Self { jsonrpc: VERSION, id, result: Some(document), error: None }
    }

    /// An error. The id is null for a message that has none.
    pub(crate) fn failed(id: &'a Value, error: RpcErrorDocument<'a>) -> Self {
        Self { jsonrpc: VERSION, id, result: None, error: Some(error) }
    }
}

/// Why a request failed.
#[derive(Debug, Serialize)]
pub(crate) struct RpcErrorDocument<'a> {
    code: i32,
    message: String,
    data: ErrorData<'a>,
}

#[derive(Debug, Serialize)]
struct ErrorData<'a> {
    code: &'static str,
    exit_code: u8,
    help: Option<String>,
    suggestions: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameter: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a RawValue>,
}

impl<'a> RpcErrorDocument<'a> {
    /// An error with this number of JSON-RPC.
    pub(crate) fn new(number: i32, error: Failure) -> Self {
        let data = ErrorData {
            code: error.kind().as_str(),
            exit_code: error.exit().code(),
            help: error.advice(),
            suggestions: error.suggestions().to_vec(),
            parameter: None,
            result: None,
        };
        Self { code: number, message: error.to_string(), data }
    }

    /// Names the parameter that is wrong.
    pub(crate) fn with_parameter(mut self, name: String) -> Self {
        self.data.parameter = Some(name);
        self
    }

    /// Adds the document of a command that failed in part.
    pub(crate) fn with_result(mut self, document: &'a RawValue) -> Self {
        self.data.result = Some(document);
        self
    }
}

/// A notification about a request that is being worked on.
#[derive(Debug, Serialize)]
pub(crate) struct Notification<'a> {
    jsonrpc: &'static str,
    method: &'static str,
    params: Progress<'a>,
}

#[derive(Debug, Serialize)]
struct Progress<'a> {
    #[serde(rename = "requestId")]
    request_id: &'a Value,
    event: &'a Event<'a>,
}

impl<'a> Notification<'a> {
    /// An event of the request with this id.
    pub(crate) fn progress(id: &'a Value, event: &'a Event<'a>) -> Self {
        Self { jsonrpc: VERSION, method: "$/progress", params: Progress { request_id: id, event } }
    }
}

/// Members of `rules`.
#[derive(Debug, Serialize)]
pub(crate) struct Rules {
    rules: Vec<Brief>,
}

/// A rule with its level and summary.
#[derive(Debug, Serialize)]
struct Brief {
    rule: &'static str,
    level: &'static str,
    summary: &'static str,
}

impl Rules {
    /// Lists the rules.
    pub(crate) fn of(rules: &[&'static Rule]) -> Self {
        Self { rules: rules.iter().map(|rule| Brief::of(rule)).collect() }
    }
}

impl Brief {
    fn of(rule: &Rule) -> Self {
        Self { rule: rule.name, level: rule.level.as_str(), summary: rule.summary }
    }
}

/// Members of `explain` for a rule.
#[derive(Debug, Serialize)]
pub(crate) struct Explanation {
    #[serde(flatten)]
    rule: Brief,
    why: &'static str,
    fix: &'static str,
    fails: Vec<ExampleFile>,
    passes: Vec<ExampleFile>,
}

/// A file of an example.
#[derive(Debug, Serialize)]
struct ExampleFile {
    file: &'static str,
    text: String,
}

impl Explanation {
    /// Explains a rule.
    pub(crate) fn of(rule: &Rule) -> Self {
        let files = |example: Example| {
            let files = example.files().into_iter();
            files.map(|(name, text)| ExampleFile { file: name, text }).collect()
        };
        Self {
            rule: Brief::of(rule),
            why: rule.why,
            fix: rule.fix,
            fails: files(rule.fails),
            passes: files(rule.passes),
        }
    }
}

/// An agent that was updated, or would be in a dry run.
#[derive(Debug, Serialize)]
pub(crate) struct Update<'a> {
    /// The agent.
    pub(crate) id: &'a str,
    /// The version before the update.
    pub(crate) from: &'a str,
    /// The version in the index.
    pub(crate) to: &'a str,
    /// The kind of distribution.
    pub(crate) distribution: &'static str,
    /// Whether the update was installed.
    pub(crate) applied: bool,
    /// The installed version, if any.
    pub(crate) installed: Option<&'a Launch>,
}

/// An agent whose newer version is too young, or whose release date is unknown. A cooldown of npm or uv has a message.
#[derive(Debug, Serialize)]
pub(crate) struct HeldUpdate {
    /// The agent.
    pub(crate) id: AgentId,
    /// The current version.
    pub(crate) from: String,
    /// The version in the index.
    pub(crate) to: String,
    /// `min-age`, `unknown-age` or `cooldown`.
    pub(crate) reason: &'static str,
    /// When the version is old enough, if known. RFC 3339.
    pub(crate) until: Option<String>,
    /// The setting that holds it back, with the newest version that is allowed, as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
}

/// A pinned agent.
#[derive(Debug, Serialize)]
pub(crate) struct Pinned {
    /// The agent.
    pub(crate) id: AgentId,
    /// The installed version.
    pub(crate) version: String,
    /// The version in the index.
    pub(crate) available: String,
}

/// Members of `update`.
#[derive(Debug, Serialize)]
pub(crate) struct UpdateReport<'a> {
    /// Agents with a different version in the index.
    pub(crate) updates: Vec<Update<'a>>,
    /// Agents whose newer version is held back.
    pub(crate) held: &'a [HeldUpdate],
    /// Pinned agents.
    pub(crate) pinned: &'a [Pinned],
    /// Agents that need a repair, which a dry run does not make.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) repairs: Vec<&'a str>,
    /// Agents that were repaired without a change of version.
    pub(crate) repaired: Vec<&'a str>,
    /// Agents that already have the version in the index.
    pub(crate) up_to_date: &'a [AgentId],
    /// Installed agents that the index no longer has.
    pub(crate) gone: &'a [AgentId],
    /// Agents that could not be updated, and why.
    pub(crate) errors: Vec<AgentFailure>,
    /// The index, if one was needed.
    pub(crate) index: Option<&'a IndexOrigin>,
}

/// Members of `rules --examination`.
#[derive(Debug, Serialize)]
pub(crate) struct Checks {
    checks: Vec<CheckBrief>,
}

/// A check with its summary.
#[derive(Debug, Serialize)]
struct CheckBrief {
    check: &'static str,
    level: Level,
    force: Force,
    spec: &'static str,
    summary: &'static str,
}

impl Checks {
    /// Lists the checks.
    pub(crate) fn of(checks: &[&Check]) -> Self {
        Self { checks: checks.iter().map(|check| CheckBrief::of(check)).collect() }
    }
}

impl CheckBrief {
    fn of(check: &Check) -> Self {
        Self { check: check.id, level: check.level, force: check.force, spec: check.spec, summary: check.summary }
    }
}

/// Members of `explain` for a check.
#[derive(Debug, Serialize)]
pub(crate) struct CheckExplanation {
    #[serde(flatten)]
    check: CheckBrief,
    why: &'static str,
    fix: &'static str,
    fails: [ExchangeFile; 1],
    passes: [ExchangeFile; 1],
}

/// A recorded exchange, as a file.
#[derive(Debug, Serialize)]
struct ExchangeFile {
    file: &'static str,
    text: &'static str,
}

impl CheckExplanation {
    /// Explains a check.
    pub(crate) fn of(check: &Check) -> Self {
        let exchange = |text| [ExchangeFile { file: "exchange.txt", text }];
        Self {
            check: CheckBrief::of(check),
            why: check.why,
            fix: check.fix,
            fails: exchange(check.fails),
            passes: exchange(check.passes),
        }
    }
}
