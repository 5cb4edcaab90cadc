//! A package manager at work.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::{Error, ToolFailure};
use crate::sys::process::{Environment, Home, Isolation, Launch, Pipes, Sandbox, Tail, Tree};

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
        let mut readers = JoinSet::new();
        readers.spawn(drain(stdout, said.keep()));
        readers.spawn(drain(stderr, told.keep()));
        let exit = timeout(self.timeout, tree.wait()).await.ok();
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

/// The end of what a program writes.
#[derive(Default)]
struct Words(Arc<Mutex<Tail>>);

impl Words {
    fn keep(&self) -> impl FnMut(&[u8]) + use<> {
        let tail = self.0.clone();
        move |bytes| tail.lock().unwrap_or_else(PoisonError::into_inner).push(bytes)
    }

    fn text(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).text()
    }
}

/// Reads to the end.
async fn drain(mut pipe: impl AsyncRead + Unpin, mut keep: impl FnMut(&[u8])) {
    let mut buffer = vec![0; 1 << 14];
    while let Ok(length @ 1..) = pipe.read(&mut buffer).await {
        keep(&buffer[..length]);
    }
}
