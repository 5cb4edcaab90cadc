//! Starting an installed agent.

use std::env::split_paths;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::PathBuf;

use tokio::process::{Child, ChildStdin, ChildStdout};

use super::{Error, Session};
use crate::install::host_environment;
use crate::store::{Launch, Version};
use acp_registry_host::owner::is_safe_for_programs;
use acp_registry_host::process::Environment;
use acp_registry_host::start::{Program, spawn};
use acp_registry_plan::manifest::env_name;
use acp_registry_plan::text::quote;

/// A running agent, which is ended when this is dropped. As long as it runs, its version is not removed.
#[derive(Debug)]
#[non_exhaustive]
pub struct Running {
    /// The process. Its stderr is that of this program.
    pub child: Child,
    /// Where the client writes messages of the protocol, one on each line.
    pub stdin: ChildStdin,
    /// Where the client reads messages of the agent.
    pub stdout: ChildStdout,
    _mark: Option<File>,
}

/// Whether a variable of a manifest is handed on. Variables that decide what runs are not.
#[must_use]
pub fn may_set(name: &str, value: &str) -> bool {
    env_name::problem(name).is_none() && !value.contains('\0')
}

impl Session {
    /// How a version is started.
    ///
    /// # Errors
    /// [`Error::LostInterpreter`].
    pub fn launch(&self, version: &Version) -> Result<Launch, Error> {
        let id = || version.receipt.id.to_string();
        version.launch(|| self.environment()).map_err(|name| Error::LostInterpreter { id: id(), name })
    }

    /// The variables that an agent gets besides those of the person: `PATH`, with more directories at its end, and those of
    /// its manifest, except for variables that the person has set.
    #[must_use]
    pub fn variables(&self, launch: &Launch) -> Vec<(OsString, OsString)> {
        let is_set = |name: &str| self.options.variables.get(name).is_some();
        let is_free = |(name, value): &&(String, String)| !is_set(name) && may_set(name, value);
        let own = launch.env.iter().filter(is_free).map(|(name, value)| (name.into(), value.into()));
        let environment = self.start_environment(launch);
        let path = environment.path().map(|(name, value)| (name.to_owned(), value.to_owned()));
        path.into_iter().chain(own).collect()
    }

    /// The directories that [`Session::variables`] appends to `PATH`.
    #[must_use]
    pub fn more_path(&self, launch: &Launch) -> Vec<PathBuf> {
        let parts = |path: &OsStr| split_paths(path).collect::<Vec<_>>();
        let known = self.options.variables.get("PATH").map(parts).unwrap_or_default().len();
        self.start_environment(launch).path().map(|(_, path)| parts(path).split_off(known)).unwrap_or_default()
    }

    fn start_environment(&self, launch: &Launch) -> Environment {
        let trusts = self.options.trusts_others;
        let beside = launch.beside.iter().filter(|folder| trusts || is_safe_for_programs(folder)).cloned();
        host_environment(self.options.variables.as_slice(), beside)
    }

    /// Starts a version for a client that speaks the protocol. The agent runs as the person, with the environment and
    /// in the working directory of this program.
    ///
    /// # Errors
    /// [`Error`] when it has changed since its installation, other people could change it, or the system does
    /// not start it.
    pub fn start(&self, version: &Version) -> Result<Running, Error> {
        let mark = version.mark_used();
        self.refuse_unfit(version)?;
        let launch = self.launch(version)?;
        let program = Program {
            path: launch.program.clone(),
            variables: self.variables(&launch),
            arguments: launch.args.iter().map(OsString::from).collect(),
            keep_open: None,
        };
        let failed = |error| {
            let program = quote(&launch.program.display().to_string());
            Error::Start { id: version.receipt.id.to_string(), program, error }
        };
        let mut child = spawn(program).map_err(failed)?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed(io::ErrorKind::BrokenPipe.into()));
        };
        Ok(Running { child, stdin, stdout, _mark: mark })
    }
}
