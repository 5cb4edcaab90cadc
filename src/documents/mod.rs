//! The JSON documents of commands, as described by `schemas/cli/`. Members are serialized in declaration order.
//!
//! Every type is built from typed results and serializes to the published form. The parts that several documents share
//! are [`Document`], [`Error`], [`Launch`] and [`IndexOrigin`].

use acp_registry::check::{Example, Rule};
pub(crate) use acp_registry::documents::{Document, IndexOrigin};
use acp_registry::examination::{Check, Examination, Force, Level};
use acp_registry::failure::{AgentFailure, Failure};
use acp_registry::handshake::Outcome;
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
    /// The absolute path of the file that the settings belong in, if it is known.
    pub(crate) file: Option<String>,
    /// The settings: the value to merge into a file of JSON, else text.
    pub(crate) settings: Value,
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
    /// The change of the editor's file, if it was to be edited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) edit: Option<ConfigEdit>,
}

/// The change of an editor's file.
#[derive(Debug, Serialize)]
pub(crate) struct ConfigEdit {
    /// The path of the file, with links followed.
    pub(crate) path: String,
    /// Whether it changes.
    pub(crate) changed: bool,
    /// Whether it was left as it is.
    pub(crate) dry_run: bool,
    /// The path of the copy of what it was.
    pub(crate) backup: Option<String>,
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
        /// The agent, with its distribution where several are checked.
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
    pub(crate) fn new(number: i32, error: &Failure) -> Self {
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
