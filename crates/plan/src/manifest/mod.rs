//! LOAD: parses one `agent.json` into a typed value that knows the positions of its members.
//!
//! * [`Manifest`]: text, typed model and positions of one file
//! * [`Agent`] and its parts: the typed model
//! * [`AgentId`]: valid ids of agents
//! * [`Version`]: version numbers as registries use them
//! * [`Platform`], [`guess_platform`]: platforms, and by which words of any tool they are known
//! * [`NpmSpec`], [`PypiSpec`]: package specifications
//! * [`env_name`]: which environment variables a manifest may set
//! * [`extension`]: members of packages beyond the public format
//! * [`archive`]: the version and the format in an archive's URL
//!
//! ```
//! use acp_registry_plan::manifest::Manifest;
//!
//! let manifest = Manifest::parse(r#"{ "id": "a", "version": "1.0.0" }"#.to_owned())?;
//! assert_eq!(manifest.agent().version, "1.0.0");
//! assert_eq!(manifest.span("/version").map(|span| (span.line, span.column)), Some((1, 25)));
//! # Ok::<(), acp_registry_plan::manifest::SyntaxError>(())
//! ```

mod agent;
pub mod archive;
mod document;
pub mod env_name;
pub mod extension;
mod id;
mod package;
mod places;
mod platform;
mod version;

pub use agent::{Agent, BinaryTarget, Channel, Distribution, Package, PackageKind, Preview, Release};
pub use document::{Manifest, SyntaxError};
pub use id::{AgentId, InvalidId};
pub use package::{NpmSpec, Pin, PypiSpec, SpecError, normalized, pypi_version_matches};
pub use places::{Places, escape_segment};
pub use platform::{Platform, UnknownPlatform, guess_platform};
pub use version::Version;
