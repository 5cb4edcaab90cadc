//! RESOLVE: makes a plan from an agent's id: version, platform, source and runtime.
//!
//! * [`PlanOptions`]: what is asked for
//! * [`Offer`]: a version and its distributions, from an index, a lock file, or what is installed
//! * [`Host`]: what the machine can run
//! * [`resolve()`]: the [`Plan`], or an [`Error`] that names the alternatives
//!
//! Nothing is guessed: the error names what is missing, and how to get it.
//!
//! ```
//! use acp_registry_plan::index::Index;
//! use acp_registry_plan::resolve::{Host, Offer, Wanted, resolve};
//!
//! let text = r#"{ "agents": [ { "id": "a", "version": "1.0.0", "distribution": { "npx": { "package": "a@1.0.0" } } } ] }"#;
//! let index = Index::parse(text.to_owned())?;
//! let agent = index.agent("a")?.ok_or("no such agent")?;
//! let wanted = Wanted::new("a".parse()?);
//! let host = Host { platform: None, emulated: None, lacks_glibc: false, has_npm: true, has_uv: false };
//! let plan = resolve(&Offer::of_agent(&agent, index.sha256()), &wanted, &host)?;
//! assert_eq!((plan.kind().as_str(), plan.source.name()), ("npx", "a@1.0.0"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod choose;
mod error;
mod host;
mod named;
mod offer;
mod plan;
pub mod runtimes;
mod source;

pub use choose::{PlanOptions, pick, resolve};
pub use error::Error;
pub use host::Host;
pub use named::{AgentSpec, WrongName};
pub use offer::{Offer, OfferOrigin};
pub use plan::Plan;
pub use source::{Expected, Kind, NotForPlatform, Source};
