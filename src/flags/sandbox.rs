//! What an agent may touch in `run --sandbox`, beside what each agent may.

use std::ffi::OsString;
use std::path::PathBuf;

use acp_registry::failure::Failure;
use acp_registry::host::process::Network;
use acp_registry::host::sandbox::{Sandbox, SandboxError};

use crate::flags::isolation::NetworkKind;

#[derive(Debug, Default, clap::Args)]
pub(crate) struct GrantArgs {
    /// With --sandbox, let the agent change this directory, too (repeatable)
    ///
    /// For clients that start the agent elsewhere than in the directory of its sessions.
    #[arg(long, value_name = "DIR", requires = "sandbox")]
    writable: Vec<PathBuf>,

    /// With --sandbox, let the agent read and start this, too (repeatable)
    ///
    /// For MCP servers and other programs in your home.
    #[arg(long, value_name = "PATH", requires = "sandbox")]
    readable: Vec<PathBuf>,

    /// With --sandbox, the network of the agent: `shared` or `none` [default: shared]
    #[arg(long, value_name = "NETWORK", requires = "sandbox", hide_possible_values = true)]
    network: Option<NetworkKind>,
}

impl GrantArgs {
    /// Grants this.
    pub(crate) fn grant(&self, sandbox: &mut Sandbox) -> Result<(), Failure> {
        let refused = |flag: &'static str| {
            move |error| match error {
                SandboxError::Home(_) => Failure::refused(format!("{flag}: {error}"))
                    .help(format!("name a directory in it that the agent needs with {flag}")),
                error => Failure::usage(format!("{flag}: {error}")).help(format!("correct or leave out {flag}")),
            }
        };
        self.writable.iter().try_for_each(|path| sandbox.write(path)).map_err(refused("--writable"))?;
        self.readable.iter().try_for_each(|path| sandbox.read(path)).map_err(refused("--readable"))?;
        if self.network == Some(NetworkKind::None) {
            sandbox.network = Network::None;
        }
        Ok(())
    }

    /// These flags, with paths as `path` has them.
    pub(crate) fn flags(&self, path: impl Fn(&PathBuf) -> OsString) -> Vec<OsString> {
        let paths = |flag: &'static str, paths: &[PathBuf]| -> Vec<OsString> {
            paths.iter().flat_map(|one| [flag.into(), path(one)]).collect()
        };
        let network = (self.network == Some(NetworkKind::None)).then_some(["--network".into(), "none".into()]);
        let paths = [paths("--writable", &self.writable), paths("--readable", &self.readable)].concat();
        paths.into_iter().chain(network.into_iter().flatten()).collect()
    }
}
