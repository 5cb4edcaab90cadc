//! `ACP_REGISTRY_LOG`: what the library does, for those who look for a fault.

use std::env;

use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{Targets, filter_fn};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::ui::Ui;

/// Writes what this program logs to stderr, if `ACP_REGISTRY_LOG` has a filter such as `debug`. Libraries below it are never
/// logged: some would show secrets.
pub(super) fn start(ui: &Ui) {
    let Ok(filter) = env::var("ACP_REGISTRY_LOG") else { return };
    let filter = match filter.parse::<Targets>() {
        Ok(filter) => filter,
        Err(error) => return ui.warning(&format!("ACP_REGISTRY_LOG is not a log filter, such as `debug`: {error}")),
    };
    let own = filter_fn(|metadata| metadata.target().starts_with("acp_registry"));
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    // Fails only when there is a log already.
    let _ = tracing_subscriber::registry().with(layer.with_filter(filter).with_filter(own)).try_init();
}
