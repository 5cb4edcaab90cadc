//! Starts the scripted model, and leads an agent to it.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;

use acp_registry_host::process::LaunchSpec;
use acp_registry_protocol::handshake::HandshakeOptions;

use super::plan::{ExaminationPlan, Recipe};
use super::session::Access;
use crate::model::Model;

/// Starts the model if checks of the plan need it. If that fails, no session is opened, for this reason.
pub(super) async fn access(plan: &ExaminationPlan, launch: &LaunchSpec) -> Access {
    let mut access = Access::new(&plan.recipe);
    if plan.level.has_model() {
        match listener(launch).await.and_then(Model::start) {
            Ok(model) => access.model = Some(Arc::new(model)),
            Err(error) => access.closed = Some(format!("the scripted model cannot be served: {error}")),
        }
    }
    access
}

/// A listener on loopback, where the agent will be.
async fn listener(launch: &LaunchSpec) -> io::Result<TcpListener> {
    match &launch.namespace {
        Some(namespace) => namespace.listen().await,
        None => TcpListener::bind((Ipv4Addr::LOCALHOST, 0)),
    }
}

/// The launch and its options with which the agent reaches the model: by the usual variables, and by its recipe.
pub(super) fn led(
    launch: &LaunchSpec,
    options: &HandshakeOptions,
    recipe: &Recipe,
    model: Option<&Model>,
) -> (LaunchSpec, HandshakeOptions) {
    let (mut launch, mut options) = (launch.clone(), options.clone());
    let Some(model) = model else { return (launch, options) };
    let recipe = recipe.with_model(&format!("http://{}", model.address()));
    for (name, value) in model.variables().into_iter().chain(recipe.env) {
        launch.environment.set(name, value);
    }
    launch.arguments.extend(recipe.args.into_iter().map(Into::into));
    options.files.extend(recipe.files);
    (launch, options)
}
