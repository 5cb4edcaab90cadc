//! How agents are published, and why a tree cannot be built.

use std::path::Path;

use acp_registry_plan::failure::{Code, Failure};
use acp_registry_plan::text::{brief_list, printable, quote};

use super::part::RenderError;
use super::previous::PublishedError;

/// The outcome of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltAgent {
    /// Name of the agent's folder.
    pub id: String,
    /// How the agent is published, or why it is not.
    pub outcome: AgentOutcome,
}

/// How an agent is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentOutcome {
    /// From its folder.
    Published,
    /// With its previously published entry, because it has errors or lost its manifest.
    Kept,
    /// Not published: it has errors and no earlier entry that can be published.
    LeftOut(LeftOutReason),
    /// Not published: it is listed in `[withdrawn]` of `registry.toml`.
    Withdrawn,
}

/// Why an agent with errors has no earlier entry to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOutReason {
    /// The earlier tree has no entry of it.
    NeverPublished,
    /// Its earlier entry breaks this safety rule.
    Unsafe(&'static str),
}

impl AgentOutcome {
    /// The name of the outcome in all output formats.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Kept => "kept",
            Self::LeftOut(_) => "left_out",
            Self::Withdrawn => "withdrawn",
        }
    }

    /// Whether the agent is in the tree.
    pub fn is_in_tree(self) -> bool {
        matches!(self, Self::Published | Self::Kept)
    }
}

/// Why a tree cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The registry has errors, and no earlier entries replace the agents concerned.
    #[error("{}", describe(agents))]
    Findings {
        /// The agents with errors; empty if the errors concern the registry as a whole.
        agents: Vec<String>,
    },
    /// Agents have errors, and the earlier tree has no `registry.json` with their earlier entries.
    #[error(
        "errors in {}, and the previous tree has no registry.json with earlier forms; nothing is published",
        brief_list(agents, NAMED)
    )]
    NoPrevious {
        /// The agents with errors.
        agents: Vec<String>,
    },
    /// The registry has no agents, and is not a new one: it has no `registry.toml`, or has published agents before.
    #[error("{0} holds no agents")]
    Empty(String),
    /// All agents are listed in `[withdrawn]` of `registry.toml`.
    #[error("all agents of {0} are withdrawn; nothing is published")]
    Withdrawn(String),
    /// A view is invalid because of what the configuration adds to it.
    #[error("the view {file} cannot be published: {message}")]
    View {
        /// File name of the view.
        file: String,
        /// What is wrong with it.
        message: String,
    },
    /// An agent is held at a version that cannot be published.
    #[error("{id} is held at {}, which {message}", printable(version))]
    Hold {
        /// The agent.
        id: String,
        /// The version.
        version: String,
        /// Why not, as the rest of a sentence.
        message: String,
    },
    /// A schema named in the configuration cannot be read or is invalid.
    #[error("the schema {} {message}", quote(path))]
    Schema {
        /// Its path, relative to the registry directory.
        path: String,
        /// What is wrong, as the rest of a sentence.
        message: String,
    },
    /// The list of recalled versions cannot be read; holds the place and the problem.
    #[error("the recalled versions cannot be read: {0}; nothing is published")]
    Revocations(String),
    /// The earlier tree cannot be read.
    #[error(transparent)]
    Previous(#[from] PublishedError),
    /// A view cannot be rendered again.
    #[error(transparent)]
    Render(#[from] RenderError),
}

impl BuildError {
    /// What the user can do about it.
    fn remedy(&self) -> String {
        let fixed = match self {
            Self::Findings { agents } if agents.is_empty() => "correct the errors; `acp-registry validate` lists them",
            Self::Findings { .. } => {
                "correct the errors, or name a published tree with --previous, from which agents keep their last form"
            }
            Self::NoPrevious { .. } => "name a tree with a registry.json with --previous, or correct the errors",
            // A new registry without agents is recognized by its configuration.
            Self::Empty(root) if Path::new(root).join("registry.toml").is_file() => {
                "add an agent with `acp-registry new`; or, since agents were published before, leave out --previous to publish none"
            }
            Self::Empty(_) => "name the registry with --registry-dir, or add an agent with `acp-registry new`",
            Self::Withdrawn(_) => {
                "add an agent with `acp-registry new`, or remove an entry below `[withdrawn]` in registry.toml"
            }
            Self::View { .. } => "correct the `[[view]]` in registry.toml",
            Self::Hold { id, .. } => return format!("correct `[hold.{id}]` in registry.toml"),
            Self::Schema { .. } => "correct `[schemas]` in registry.toml",
            Self::Revocations(_) => "correct revoked.json: without it, revoked versions would be installed again",
            Self::Previous(error) => return error.remedy(),
            Self::Render(_) => "report this as a bug of acp-registry",
        };
        fixed.to_owned()
    }
}

/// How many agents a message names.
pub const NAMED: usize = 10;

fn describe(agents: &[String]) -> String {
    if agents.is_empty() {
        return "the registry has errors; nothing is published".to_owned();
    }
    format!("errors in {}, and no earlier form to keep; nothing is published", brief_list(agents, NAMED))
}

impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Self {
        let help = error.remedy();
        let failure = match error {
            BuildError::Findings { .. } | BuildError::NoPrevious { .. } | BuildError::Revocations(_) => {
                Self::findings(error)
            }
            BuildError::Empty(_) | BuildError::Withdrawn(_) | BuildError::View { .. } | BuildError::Hold { .. } => {
                Self::usage(error)
            }
            BuildError::Schema { .. } => Self::usage(error).code(Code::InvalidConfiguration),
            BuildError::Previous(_) | BuildError::Render(_) => Self::unable(error),
        };
        failure.help(help)
    }
}
