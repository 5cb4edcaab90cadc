//! The options of a check.

use super::Levels;
use crate::config::Config;
use crate::survey::Survey;
use acp_registry_http::AllowedHosts;

/// Options of [`check`](super::check()).
#[derive(Debug)]
pub struct CheckOptions<'a> {
    /// The level of each rule.
    pub levels: &'a Levels,
    /// Hosts that may be private and may be used without TLS.
    pub allowed_hosts: &'a AllowedHosts,
    /// The registry's configuration.
    pub config: &'a Config,
    /// The survey; without it, rules that need one do not run.
    pub survey: Option<&'a Survey>,
}
