//! The log of the library, for debugging: `ACP_REGISTRY_LOG`.

use std::env;

use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{Targets, filter_fn};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::terminal::ui::Ui;

/// Logs to stderr if `ACP_REGISTRY_LOG` holds a filter such as `debug`. Dependencies are not logged, since some would log
/// secrets.
pub(crate) fn start(ui: &Ui) {
    let Ok(filter) = env::var("ACP_REGISTRY_LOG") else { return };
    let filter = match filter.parse::<Targets>() {
        Ok(filter) => filter,
        Err(error) => return ui.warning(&format!("ACP_REGISTRY_LOG is not a log filter, such as `debug`: {error}")),
    };
    let own = filter_fn(|metadata| metadata.target().starts_with("acp_registry"));
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    // Fails only if a log is already installed.
    let _ = tracing_subscriber::registry().with(layer.with_filter(filter).with_filter(own)).try_init();
}
