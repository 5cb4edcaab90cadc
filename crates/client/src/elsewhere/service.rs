//! The other side of a connection.

use std::cmp::Reverse;
use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use acp_registry_host::in_use::processes_in;
use acp_registry_host::process::{Orphans, adopt_orphans};
use acp_registry_host::start::{Program, signal_group, spawn_apart};
use tokio::io::AsyncWriteExt as _;
use tokio::process::ChildStdin;
use tokio::sync::mpsc;
use tokio::time::{interval, timeout};

use super::frame::{Frame, Frames, pieces};
use super::{BEAT, Input, KILL, Order, Output, SILENCE};

/// How long a program has to end once it is asked to, and its output to come in once it has ended.
const GRACE: Duration = Duration::from_secs(3);

/// The number of the signal on all Unix systems.
const TERMINATE: u8 = 15;

/// Removes copies of earlier versions beside this one, except for the newest and those that a process runs.
fn remove_earlier(program: &Path) {
    let Some(folder) = program.parent().filter(|folder| folder.ends_with("acp-registry/bin")) else { return };
    let modified = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    let own = modified(program);
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let is_copy =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("acp-registry-"));
    // A copy that is on its way is newer.
    let mut earlier: Vec<PathBuf> = entries.filter(|path| is_copy(path) && modified(path) < own).collect();
    earlier.sort_by_key(|path| Reverse(modified(path)));
    for path in earlier.iter().skip(1).filter(|path| processes_in(path).is_empty()) {
        // The next one may be able to.
        let _ = fs::remove_file(path);
    }
}

/// Starts `program` as the order that comes first demands, connects it to the other side, and returns its exit code. Once it
/// has ended, the connection is lost, or a signal comes, all that it has started is ended.
///
/// # Errors
/// [`io::Error`] when there is no order, or the program does not start.
pub async fn serve(program: &Path, input: Input, output: &Output, signals: &mut mpsc::Receiver<u8>) -> io::Result<u8> {
    let mut frames = Frames::new(input);
    let Some(Frame::Order(text)) = frames.next().await else { return Err(io::ErrorKind::UnexpectedEof.into()) };
    let Order { arguments, variables } = serde_json::from_slice(&text)?;
    remove_earlier(program);
    // What leaves the group is found as an orphan.
    let orphans = adopt_orphans();
    let start = Program {
        path: program.to_owned(),
        arguments: arguments.into_iter().map(Into::into).collect(),
        variables: variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
        hidden: Vec::new(),
        keep_open: None,
    };
    let mut child = spawn_apart(start, Stdio::inherit())?;
    let (Some(group), Some(stdin), Some(stdout)) = (child.id(), child.stdin.take(), child.stdout.take()) else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    let receiving = tokio::spawn(receive(frames, stdin, group));
    let mut sending = tokio::spawn(send(pieces(stdout), output.clone()));
    let beating = tokio::spawn(beat(output.clone()));
    let ended = tokio::select! {
        status = child.wait() => Some(status?),
        _ = receiving => None,
        _ = beating => None,
        _ = signals.recv() => None,
    };
    signal_group(group, TERMINATE);
    let mut is_sent = false;
    if ended.is_some() {
        // Processes that were left behind may keep the output open.
        is_sent = timeout(GRACE, &mut sending).await.is_ok();
    } else {
        let _ = timeout(GRACE, child.wait()).await;
    }
    signal_group(group, KILL);
    let status = child.wait().await;
    let _ = orphans.map(Orphans::end);
    let Some(status) = ended else { return status.map(code) };
    if !is_sent {
        let _ = timeout(GRACE, sending).await;
    }
    output(&Frame::Exit(code(status)).bytes())?;
    Ok(code(status))
}

/// Hands on what the other side sends, until the connection is lost.
async fn receive(mut frames: Frames, stdin: ChildStdin, group: u32) {
    let mut stdin = Some(stdin);
    while let Ok(Some(frame)) = timeout(SILENCE, frames.next()).await {
        match frame {
            Frame::Data(piece) => {
                if let Some(open) = &mut stdin
                    && open.write_all(&piece).await.is_err()
                {
                    stdin = None;
                }
            }
            Frame::End => stdin = None,
            Frame::Signal(number) => signal_group(group, number),
            _ => {}
        }
    }
}

/// Sends what the program writes.
async fn send(mut stdout: Input, output: Output) {
    while let Some(piece) = stdout.recv().await {
        // The beat finds out that nothing reads any more.
        if output(&Frame::Data(piece).bytes()).is_err() {
            return;
        }
    }
}

/// Says that this side is there, until nothing reads any more.
async fn beat(output: Output) {
    let mut beat = interval(BEAT);
    while output(&Frame::Beat.bytes()).is_ok() {
        beat.tick().await;
    }
}

/// The code that a shell would report.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
