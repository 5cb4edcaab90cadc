//! A package manager at work.

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::heard::{Ear, Words, drain, listen};
use super::{Error, Progress, ToolFailure};
use crate::sys::process::{Environment, Home, Isolation, Launch, Pipes, Sandbox, Tree};

/// How long the last words are waited for after the end.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// What is run.
pub(super) struct Tool<'a> {
    /// Its name, for messages.
    pub(super) name: &'static str,
    /// Where it is.
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<String>,
    pub(super) environment: Environment,
    /// Where it works.
    pub(super) directory: &'a Path,
    /// Where its home is made.
    pub(super) temporary: &'a Path,
    pub(super) timeout: Duration,
    /// Sets its limits.
    pub(super) launcher: Option<PathBuf>,
    /// Is told how far it is.
    pub(super) progress: &'a (dyn Fn(Progress) + Send + Sync),
}

/// The end of what a package manager that succeeded has written.
pub(super) struct Output {
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Tool<'_> {
    /// Runs it to its end, and ends all that it has started.
    pub(super) async fn run(self) -> Result<Output, Error> {
        // Before the tree, so that it outlives it.
        let sandbox = Sandbox::below(self.temporary, Home::Empty)?;
        let launch = Launch {
            program: self.program.into(),
            arguments: self.arguments.into_iter().map(Into::into).collect(),
            directory: Some(self.directory.to_owned()),
            environment: self.environment,
            isolation: Isolation::Environment,
            readable: Vec::new(),
            launcher: self.launcher,
        };
        let (mut tree, Pipes { stdin, stdout, stderr }) = Tree::start(&launch, &sandbox).await?;
        drop(stdin);
        let (said, told) = (Words::default(), Words::default());
        let (phase, mut phases) = watch::channel(String::new());
        let mut readers = JoinSet::new();
        readers.spawn(drain(stdout, said.clone()));
        readers.spawn(listen(stderr, Ear::new(told.clone(), phase)));
        let exit = {
            let mut end = pin!(timeout(self.timeout, tree.wait()));
            loop {
                tokio::select! {
                    exit = &mut end => break exit.ok(),
                    Ok(()) = phases.changed() => {
                        let phase = phases.borrow_and_update().clone();
                        (self.progress)(Progress::Phase(self.name, phase));
                    }
                }
            }
        };
        tree.end().await;
        // Something that could not be ended may hold the pipes for ever.
        let _ = timeout(LAST_WORDS, async { while readers.join_next().await.is_some() {} }).await;
        let mut stderr = told.text();
        if exit.is_some_and(|exit| exit.code == Some(0)) && !is_broken(&stderr) {
            return Ok(Output { stdout: said.text(), stderr });
        }
        if stderr.trim().is_empty() {
            stderr = said.text();
        }
        Err(Error::Tool(Box::new(ToolFailure { program: self.name, exit, limit: self.timeout, stderr })))
    }
}

/// Whether npm could not unpack some file, which it only warns of: a full disk looks like that.
fn is_broken(stderr: &str) -> bool {
    stderr.lines().any(|line| line.to_ascii_lowercase().starts_with("npm warn tar tar_entry_error"))
}
