//! The process of one connection.

use std::path::Path;
use std::time::Duration;

use acp_registry_host::process::{Home, LaunchDirectories, LaunchSpec, Pipes, ProcessTree, Tail};
use acp_registry_plan::text::printable;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval};

use super::link::Link;
use crate::message::next_line;

/// How often it is looked whether any client reads.
const LOOK: Duration = Duration::from_secs(1);

/// After how long without a client the agent is ended.
const UNREAD: Duration = Duration::from_secs(15);

/// A running agent, which works on the person's behalf, in the person's home.
pub(super) struct Running {
    tree: ProcessTree,
    pipes: Pipes,
    sandbox: LaunchDirectories,
}

/// An agent that is to end.
pub(super) struct Ended {
    tree: ProcessTree,
    /// Kept until the processes have ended.
    _sandbox: LaunchDirectories,
    /// Read what the agent still writes, so that it does not wait for a reader.
    _rest: JoinSet<()>,
    reason: Option<String>,
}

pub(super) async fn start(launch: &LaunchSpec, temporary: &Path) -> Result<Running, String> {
    let sandbox = LaunchDirectories::below(temporary, Home::Persons).map_err(|error| error.to_string())?;
    let (tree, pipes) = ProcessTree::start(launch, &sandbox).await.map_err(|error| error.to_string())?;
    Ok(Running { tree, pipes, sandbox })
}

impl Running {
    /// Passes lines until the agent or the connection ends.
    pub(super) async fn run(self, peer: &Link, mut messages: mpsc::Receiver<Vec<u8>>) -> Ended {
        let Self { tree, pipes: Pipes { mut stdin, stdout, mut stderr }, sandbox } = self;
        let mut stdin_task = JoinSet::new();
        stdin_task.spawn(async move {
            while let Some(line) = messages.recv().await {
                // An agent that has closed its stdin may still answer.
                if stdin.write_all(&line).await.is_err() || stdin.flush().await.is_err() {
                    break;
                }
            }
        });
        let mut rest = JoinSet::new();
        let (report, mut tails) = mpsc::channel(1);
        rest.spawn(async move {
            let (mut tail, mut buffer) = (Tail::default(), vec![0; 8 << 10]);
            while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
                tail.push(&buffer[..read]);
            }
            let _ = report.send(tail.text()).await;
        });
        let mut lines = BufReader::with_capacity(64 << 10, stdout);
        let mut looks = interval(LOOK);
        let mut read_at = Instant::now();
        let mut reading = Box::pin(async {
            loop {
                match next_line(&mut lines).await {
                    Ok(Some(line)) if line.trim_ascii().is_empty() => {}
                    Ok(Some(line)) => {
                        if let Err(reason) = peer.route(line).await {
                            return Some(reason.to_owned());
                        }
                    }
                    Ok(None) => return None,
                    Err(error) => return Some(error.to_string()),
                }
            }
        });
        let mut reason = loop {
            tokio::select! {
                ended = &mut reading => break ended.map_or_else(|| Some(String::new()), Some),
                () = peer.stopped() => break None,
                _ = looks.tick() => {
                    if peer.is_read() {
                        read_at = Instant::now();
                    } else if read_at.elapsed() >= UNREAD {
                        break Some("no client reads its messages".to_owned());
                    }
                }
            }
        };
        drop(reading);
        // The agent ends with its stdin.
        stdin_task.abort_all();
        if reason.as_deref() == Some("") {
            let tail = tokio::time::timeout(Duration::from_millis(200), tails.recv()).await.ok().flatten();
            let tail = tail.unwrap_or_default();
            let lines = || tail.lines().rev().filter(|line| !line.trim().is_empty());
            // What is said after an error is how to mend it.
            let last = lines().find(|line| line.starts_with("error:")).or_else(|| lines().next());
            let last = last.unwrap_or("without a word on stderr");
            reason = Some(printable(last).into_owned());
        }
        rest.spawn(async move {
            let mut buffer = vec![0; 8 << 10];
            while let Ok(1..) = lines.read(&mut buffer).await {}
        });
        Ended { tree, _sandbox: sandbox, _rest: rest, reason }
    }
}

impl Ended {
    /// Ends all processes. Returns why the connection has ended, unless its client wanted that.
    pub(super) async fn end(self) -> Option<String> {
        self.tree.end().await;
        self.reason.map(|reason| format!("a connection has ended: {reason}"))
    }
}
