//! Running a package manager.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use url::Url;

use super::output::{Ear, OutputTail, drain, listen};
use super::{Error, InstallJob, Progress, ToolFailure};
use acp_registry_host::fs::{PathError, available};
use acp_registry_host::process::{Environment, Home, Isolation, LaunchSpec, Pipes, ProcessTree, Sandbox};
use acp_registry_http::Proxies;
use acp_registry_sources::NamedRegistry;

/// How long the last words are waited for after the end.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// A package manager, which works in the directory of an installation.
pub(super) struct Tool<'a> {
    work: &'a InstallJob<'a>,
    /// Its name, for messages.
    name: &'static str,
    /// Where it is.
    program: PathBuf,
    pub(super) environment: Environment,
    /// The package registry that it is told to ask.
    registry: Option<&'a NamedRegistry>,
}

/// The end of what a package manager that succeeded has written.
pub(super) struct ToolOutput {
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl<'a> Tool<'a> {
    pub(super) fn new(
        work: &'a InstallJob<'a>,
        name: &'static str,
        program: PathBuf,
        environment: Environment,
        registry: Option<&'a NamedRegistry>,
    ) -> Self {
        Self { work, name, program, environment, registry }
    }

    /// Runs it to its end, and ends all that it has started.
    pub(super) async fn run(&self, arguments: impl IntoIterator<Item: Into<OsString>>) -> Result<ToolOutput, Error> {
        let InstallJob { installer, directory, temporary, progress, .. } = *self.work;
        // Before the tree, so that it outlives it.
        let sandbox = Sandbox::below(temporary, Home::Empty)?;
        let launch = LaunchSpec {
            program: self.program.clone().into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            directory: Some(directory.to_owned()),
            environment: self.environment.clone(),
            isolation: Isolation::Environment,
            readable: Vec::new(),
            launcher: installer.launcher.clone(),
            namespace: None,
        };
        let (mut tree, Pipes { stdin, stdout, stderr }) = ProcessTree::start(&launch, &sandbox).await?;
        drop(stdin);
        let (said, told) = (OutputTail::default(), OutputTail::default());
        let (phase, mut phases) = watch::channel(String::new());
        let mut readers = JoinSet::new();
        readers.spawn(drain(stdout, said.clone()));
        readers.spawn(listen(stderr, Ear::new(told.clone(), phase)));
        let exit = {
            let mut end = pin!(timeout(installer.timeout, tree.wait()));
            loop {
                tokio::select! {
                    exit = &mut end => break exit.ok(),
                    Ok(()) = phases.changed() => {
                        let phase = phases.borrow_and_update().clone();
                        progress(Progress::Phase(self.name, phase));
                    }
                }
            }
        };
        tree.end().await;
        // Something that could not be ended may hold the pipes for ever.
        let _ = timeout(LAST_WORDS, async { while readers.join_next().await.is_some() {} }).await;
        let mut stderr = told.text();
        if exit.is_some_and(|exit| exit.code == Some(0)) && !is_broken(&stderr) {
            return Ok(ToolOutput { stdout: said.text(), stderr });
        }
        if stderr.trim().is_empty() {
            stderr = said.text();
        }
        let (program, limit, asked) = (self.name, installer.timeout, self.registry.cloned());
        let phase = Some(phases.borrow().clone()).filter(|phase| !phase.is_empty());
        let mut failure = ToolFailure { program, exit, limit, stderr, proxy: None, full: None, phase, asked };
        let proxies = self.proxies();
        let proxy = failure.addresses().find_map(|url| Some(proxies.choose(&url).ok()??.to_string()));
        failure.proxy = proxy;
        failure.full = if failure.is_of_disk() { fullest(self.places()) } else { None };
        Err(Error::Tool(Box::new(failure)))
    }

    /// Refuses to ask a registry past a proxy whose variable is wrong, as some package managers do in silence.
    pub(super) fn check_proxy(&self) -> Result<(), Error> {
        let registry = self.registry.and_then(|registry| Url::parse(&registry.address).ok());
        let default = || Url::parse("https://registry.invalid").ok();
        if let Some(registry) = registry.or_else(default) {
            self.proxies().choose(&registry)?;
        }
        Ok(())
    }

    /// The proxies that it uses. npm's own settings override the variables of the system.
    fn proxies(&self) -> Proxies {
        let get = |name: &str| Some(self.environment.get(name)?.to_str()?.to_owned());
        let own = if self.name == "npm" { Proxies::for_npm(&get) } else { None };
        own.unwrap_or_else(|| self.work.installer.client.proxies().clone())
    }

    /// Where it writes.
    fn places(&self) -> Vec<PathBuf> {
        let caches = ["npm_config_cache", "UV_CACHE_DIR"].into_iter().filter_map(|name| self.environment.get(name));
        [self.work.directory, self.work.temporary]
            .into_iter()
            .map(Path::to_owned)
            .chain(caches.map(PathBuf::from))
            .collect()
    }
}

/// The directory whose disk has the least space. After a failure, package managers may have removed the files that
/// filled it.
fn fullest(places: Vec<PathBuf>) -> Option<PathBuf> {
    let first = places.first().cloned();
    let known = places.into_iter().filter_map(|place| Some((available(&place)?, place)));
    known.min_by_key(|(bytes, _)| *bytes).map(|(_, place)| place).or(first)
}

/// Whether npm could not unpack a file. It only warns of that, and a full disk is a usual cause.
fn is_broken(stderr: &str) -> bool {
    stderr.lines().any(|line| line.to_ascii_lowercase().starts_with("npm warn tar tar_entry_error"))
}

/// Writes a file that the package manager reads.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Error> {
    Ok(fs::write(path, text).map_err(PathError::at(path))?)
}
