//! LOAD: the text of one `agent.json` as a typed value that knows where everything stands.
//!
//! * [`Manifest`]: text, JSON value, typed model and places of one file
//! * [`Agent`] and its parts: the typed model
//! * [`Version`]: version numbers as registries use them
//! * [`NpmSpec`], [`PypiSpec`]: package specifications
//! * [`env_name`]: which environment variables a manifest may set
//! * [`archive`]: what an archive URL says of its version and its format

mod agent;
pub mod archive;
mod document;
mod edit;
pub mod env_name;
mod package;
mod places;
mod version;

pub use agent::{Agent, BinaryTarget, Channel, Distribution, Package, PackageKind, Platform, Preview, Release};
pub use document::{Manifest, SyntaxError};
pub use package::{NpmSpec, Pin, PypiSpec, SpecError, pypi_version_matches};
pub use places::{Places, escape_segment};
pub use version::Version;
