//! The pipes of a running agent: writes bytes and reads lines, however they arrive, without interpreting them. Its stderr is
//! passed on line by line while it runs.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use acp_registry_host::process::{Exit, Pipes, ProcessTree, RunDelays, Tail};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::ChildStdout;
use tokio::select;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

/// Size of a read buffer, in bytes.
const CHUNK: usize = 64 << 10;

/// Maximum number of queued messages to an agent that does not read.
const OUTGOING: usize = 64;

/// Time to wait, after the first sign that an agent that has written something has ended, for the others: the rest of its
/// output, or its exit code.
const REST: Duration = Duration::from_millis(500);

/// The same for a program that fails before it has written anything. One that succeeds may be a launcher, whose agent has its
/// pipes.
const FAILED: Duration = Duration::from_secs(5);

/// Time to wait for stderr after the agent has ended.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// Time to wait for the end of a started line before it is reported.
const PAUSE: Duration = Duration::from_millis(100);

/// Why there is no further line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silence {
    /// The deadline has passed.
    Timeout,
    /// The deadline has passed, and so has the time by which it was [moved](Wait): the program waited this long for a
    /// processor, so that its silence says nothing.
    Starved(Duration),
    /// The program has exited.
    Exited(Exit),
    /// The program has closed its stdout, and keeps running.
    Closed,
    /// The program exceeded the output limit.
    Overflow(Overflow),
    /// The program has written messages in an array, which clients do not read.
    Array,
}

impl Silence {
    /// Whether the program still runs, and may yet write.
    #[must_use]
    pub fn is_timeout(self) -> bool {
        matches!(self, Self::Timeout | Self::Starved(_))
    }
}

/// How long to wait before the run queue is looked at, which costs more than most answers take.
const EARLY: Duration = Duration::from_millis(250);

/// The shortest time by which a deadline is moved.
const STEP: Duration = Duration::from_millis(50);

/// By how many times its own length a wait is made longer at most.
pub const LONGER: u32 = 5;

/// A wait for a program until a deadline, which moves by the time for which the program waited for a processor: what
/// is too slow must not depend on what else the machine does.
#[derive(Debug)]
pub struct Wait {
    deadline: Instant,
    began: Instant,
    /// The deadline as moved.
    end: Instant,
    /// How long the program had waited for a processor at the begin of this wait, once that was looked at.
    before: Option<RunDelays>,
    /// Whether the pipe was read once more after the end: this process may have been slow itself.
    has_read_at_end: bool,
}

impl Wait {
    /// A wait that begins now.
    #[must_use]
    pub fn until(deadline: Instant) -> Self {
        Self { deadline, began: Instant::now(), end: deadline, before: None, has_read_at_end: false }
    }

    /// When to look again.
    fn next(&self) -> Instant {
        if self.before.is_none() { self.end.min(self.began + EARLY) } else { self.end }
    }

    /// Returns the silence if the wait is over, and else moves the deadline as needed.
    pub(super) fn look(&mut self, now: Instant, run_delays: impl Fn() -> RunDelays) -> Option<Silence> {
        if now >= self.began + EARLY && self.before.is_none() {
            self.before = Some(run_delays());
        }
        if now < self.end {
            return None;
        }
        if !std::mem::replace(&mut self.has_read_at_end, true) {
            return None;
        }
        let Some(before) = &self.before else { return Some(Silence::Timeout) };
        let most = self.deadline.saturating_duration_since(self.began) * LONGER;
        let starved = run_delays().since(before).min(now.duration_since(self.began));
        let end = self.deadline + starved.min(most);
        if end > self.end + STEP {
            (self.end, self.has_read_at_end) = (end, false);
            return None;
        }
        Some(if starved >= most { Silence::Starved(starved) } else { Silence::Timeout })
    }
}

/// The pipes of a running agent.
pub(super) struct Wire {
    stdout: Option<ChildStdout>,
    lines: Lines,
    /// Whether the last line had no line end.
    pub(super) has_open_end: bool,
    overflow: Option<Overflow>,
    exit: Option<Exit>,
    /// The wait for the rest, from the first sign of the end.
    rest: Option<Wait>,
    /// Whether there was a line while the program ran.
    has_spoken: bool,
    wait: Wait,
    pub(super) outgoing: mpsc::Sender<Vec<u8>>,
    stderr: Arc<Mutex<Tail>>,
    /// Ends with the agent's stderr.
    stderr_task: JoinSet<()>,
    /// Holds the agent's stdin.
    stdin_task: JoinSet<()>,
    /// Discards further output.
    rest_task: JoinSet<()>,
}

impl Wire {
    pub(super) fn new(pipes: Pipes, lines: Lines, listener: Option<Listener>) -> Self {
        let Pipes { mut stdin, stdout, stderr } = pipes;
        let (outgoing, mut messages) = mpsc::channel::<Vec<u8>>(OUTGOING);
        let mut stdin_task = JoinSet::new();
        stdin_task.spawn(async move {
            while let Some(message) = messages.recv().await {
                // An agent that has closed its stdin may still answer.
                if stdin.write_all(&message).await.is_err() || stdin.flush().await.is_err() {
                    break;
                }
            }
            // Keeps the pipe open, because many agents exit when it is closed.
            while messages.recv().await.is_some() {}
        });
        let tail = Arc::new(Mutex::new(Tail::default()));
        let mut stderr_task = JoinSet::new();
        stderr_task.spawn(listen(stderr, listener.map(Spoken::new), tail.clone()));
        Self {
            stdout: Some(stdout),
            lines,
            has_open_end: false,
            overflow: None,
            exit: None,
            rest: None,
            has_spoken: false,
            wait: Wait::until(Instant::now()),
            outgoing,
            stderr: tail,
            stderr_task,
            stdin_task,
            rest_task: JoinSet::new(),
        }
    }

    /// Reads the next lines, at least one.
    pub(super) async fn lines(&mut self, tree: &mut ProcessTree, deadline: Instant) -> Result<Vec<Vec<u8>>, Silence> {
        let mut buffer = Vec::with_capacity(CHUNK);
        if self.wait.deadline != deadline {
            self.wait = Wait::until(deadline);
        }
        loop {
            if let Some(overflow) = self.overflow {
                return Err(Silence::Overflow(overflow));
            }
            let is_closed = self.stdout.is_none();
            let now = Instant::now();
            let is_over = self.rest.as_mut().is_some_and(|rest| rest.look(now, || tree.run_delays()).is_some());
            let silence = if is_over { Some(Silence::Closed) } else { self.wait.look(now, || tree.run_delays()) };
            if silence.is_some() || (is_closed && self.exit.is_some()) {
                return Err(match (self.exit, silence) {
                    (Some(exit), _) => Silence::Exited(exit),
                    (None, Some(silence)) if !is_closed => silence,
                    _ => Silence::Closed,
                });
            }
            let until = self.rest.as_ref().map_or(self.wait.next(), |rest| rest.next().min(self.wait.next()));
            buffer.clear();
            select! {
                // Output that is there is read before the time is looked at.
                biased;
                read = read_some(&mut self.stdout, &mut buffer) => {
                    let lines = match read {
                        0 => self.close(),
                        _ => self.lines.push(&buffer).unwrap_or_else(|overflow| {
                            self.overflow = Some(overflow);
                            Vec::new()
                        }),
                    };
                    if !lines.is_empty() {
                        self.has_spoken |= self.exit.is_none();
                        return Ok(lines);
                    }
                }
                exit = tree.wait(), if self.exit.is_none() => {
                    self.exit = Some(exit);
                    let rest = if self.has_spoken { Some(REST) } else { (exit.code != Some(0)).then_some(FAILED) };
                    if let Some(rest) = rest {
                        self.rest.get_or_insert_with(|| Wait::until(Instant::now() + rest));
                    }
                }
                () = sleep_until(until) => {}
            }
        }
    }

    /// Waits for the program to exit, and discards its output.
    pub(super) async fn exit(&mut self, tree: &mut ProcessTree, deadline: Instant) -> Option<Exit> {
        let mut wait = Wait::until(deadline);
        loop {
            if let Ok(exit) = timeout_at(wait.next(), tree.wait()).await {
                return Some(exit);
            }
            if wait.look(Instant::now(), || tree.run_delays()).is_some() {
                return None;
            }
        }
    }

    /// Handles the end of the output: returns the last line, if it has no line end.
    fn close(&mut self) -> Vec<Vec<u8>> {
        self.stdout = None;
        self.rest.get_or_insert_with(|| Wait::until(Instant::now() + REST));
        let rest = self.lines.finish();
        if rest.is_empty() {
            return Vec::new();
        }
        self.has_open_end = true;
        vec![rest]
    }

    /// The unfinished line at the end of the output.
    pub(super) fn unfinished(&self) -> &[u8] {
        self.lines.rest()
    }

    /// The last part of stderr, for an agent that has ended. Waits briefly for output in transit.
    pub(super) async fn stderr(&mut self) -> String {
        let _ = timeout(LAST_WORDS, self.stderr_task.join_next()).await;
        self.stderr_so_far()
    }

    /// The last part of what stderr has so far.
    pub(super) fn stderr_so_far(&self) -> String {
        self.stderr.lock().unwrap_or_else(PoisonError::into_inner).text()
    }

    /// Closes the agent's stdin. Its further output is discarded.
    pub(super) fn hang_up(&mut self) {
        self.stdin_task.abort_all();
        self.read_rest();
    }

    /// Discards the agent's further output, so that the agent does not block on a full pipe.
    pub(super) fn read_rest(&mut self) {
        if let Some(mut stdout) = self.stdout.take() {
            self.rest_task.spawn(async move { drop(tokio::io::copy(&mut stdout, &mut tokio::io::sink()).await) });
        }
    }
}

/// Reads a piece into an empty buffer, and returns its size; 0 at the end. Never returns if there is no pipe to read
/// from.
async fn read_some(stdout: &mut Option<ChildStdout>, buffer: &mut Vec<u8>) -> usize {
    match stdout {
        // An error of a pipe counts as its end.
        Some(stdout) => stdout.read_buf(buffer).await.unwrap_or(0),
        None => std::future::pending().await,
    }
}

/// Reads stderr to its end, keeps the last part, and passes lines on.
async fn listen(mut stderr: impl AsyncRead + Unpin, mut spoken: Option<Spoken>, tail: Arc<Mutex<Tail>>) {
    let mut buffer = vec![0; CHUNK];
    loop {
        let read = stderr.read(&mut buffer);
        let read = match spoken.as_mut().filter(|spoken| spoken.is_unfinished()) {
            None => read.await,
            Some(spoken) => {
                let Ok(read) = timeout(PAUSE, read).await else {
                    spoken.tell();
                    continue;
                };
                read
            }
        };
        let Ok(length @ 1..) = read else { return };
        tail.lock().unwrap_or_else(PoisonError::into_inner).push(&buffer[..length]);
        if let Some(spoken) = &mut spoken {
            spoken.push(&buffer[..length]);
        }
    }
}

/// Maximum length of a line, in bytes.
pub(super) const LINE: usize = 1 << 20;

/// Maximum size of the whole output, in bytes.
pub(super) const TOTAL: u64 = 16 << 20;

/// Maximum number of messages before an answer.
pub(super) const MESSAGES: u64 = 10_000;

/// The limit that a program's output exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// The length of a line.
    Line,
    /// The size of the whole output.
    Total,
    /// The number of messages.
    Messages,
}

/// Splits the output of a program.
#[derive(Debug)]
pub(super) struct Lines {
    longest: usize,
    rest: Vec<u8>,
    total: u64,
}

impl Default for Lines {
    fn default() -> Self {
        Self::up_to(LINE)
    }
}

impl Lines {
    /// Sets the maximum length of a line, in bytes.
    pub(super) fn up_to(longest: usize) -> Self {
        Self { longest, rest: Vec::new(), total: 0 }
    }

    /// Adds a piece of output, and returns the lines that end in it, without their line ends.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> Result<Vec<Vec<u8>>, Overflow> {
        self.total += bytes.len() as u64;
        let mut lines = Vec::new();
        while let Some(at) = bytes.iter().position(|byte| *byte == b'\n') {
            let mut line = std::mem::take(&mut self.rest);
            line.extend_from_slice(&bytes[..at]);
            bytes = &bytes[at + 1..];
            if line.len() > self.longest {
                return Err(Overflow::Line);
            }
            lines.push(line);
        }
        self.rest.extend_from_slice(bytes);
        if self.rest.len() > self.longest {
            return Err(Overflow::Line);
        }
        if self.total > TOTAL {
            return Err(Overflow::Total);
        }
        Ok(lines)
    }

    /// The output since the last line end.
    pub(super) fn rest(&self) -> &[u8] {
        &self.rest
    }

    /// The last line, at the end of the output.
    pub(super) fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.rest)
    }
}

/// Maximum length of a line to pass on, in bytes.
const TOLD_LINE: usize = 4096;

/// Maximum number of lines to pass on.
const TOLD_LINES: usize = 1000;

/// Receives one line at a time, without its line end. Not escaped: escape it before printing.
pub type Listener = Arc<dyn Fn(&str) + Send + Sync>;

/// Splits output into lines, and passes them on.
pub(super) struct Spoken {
    listener: Listener,
    line: Vec<u8>,
    told: usize,
}

impl Spoken {
    pub(super) fn new(listener: Listener) -> Self {
        Self { listener, line: Vec::new(), told: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = TOLD_LINE.saturating_sub(self.line.len());
            self.line.extend_from_slice(&piece[..piece.len().min(room)]);
            if piece.ends_with(b"\n") {
                self.tell();
            }
        }
    }

    /// Whether there is an unfinished line.
    pub(super) fn is_unfinished(&self) -> bool {
        !self.line.is_empty()
    }

    /// Passes on the line, also an unfinished one: a question to the user ends with a pause instead of a line end.
    pub(super) fn tell(&mut self) {
        let line = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end();
        if !text.is_empty() && self.told < TOLD_LINES {
            self.told += 1;
            (self.listener)(text);
        }
    }
}

impl Drop for Spoken {
    /// The last line may have no line end.
    fn drop(&mut self) {
        self.tell();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// How a wait of 10 s ends, and after how many seconds, if the program waits for a processor for a part of the time.
    fn end_of_wait(share: f64) -> (Silence, u64) {
        let began = Instant::now();
        let mut wait = Wait { began, ..Wait::until(began + Duration::from_secs(10)) };
        let mut now = began;
        loop {
            let delay = Duration::from_secs(100) + now.duration_since(began).mul_f64(share);
            if let Some(silence) = wait.look(now, || RunDelays([(1, delay)].into())) {
                return (silence, now.duration_since(began).as_secs());
            }
            now = wait.next().max(now);
        }
    }

    #[test]
    fn a_program_that_waits_for_a_processor_gets_that_time_in_addition() {
        assert_eq!(end_of_wait(0.0), (Silence::Timeout, 10));
        assert_eq!(end_of_wait(0.5), (Silence::Timeout, 19));
        // It had a tenth of six times the limit: less than the limit itself.
        let (silence, seconds) = end_of_wait(0.9);
        assert!(matches!(silence, Silence::Starved(delay) if delay.as_secs() >= 50) && seconds == 59, "{silence:?}");
    }

    proptest! {
        #[test]
        fn chunks_do_not_matter(text in "[a\n\r]{0,60}", cuts in proptest::collection::vec(0_usize..60, 0..9)) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).chain([0, text.len()]).collect();
            cuts.sort_unstable();
            let mut lines = Lines::default();
            let mut all = Vec::new();
            for pair in cuts.windows(2) {
                all.extend(lines.push(&text.as_bytes()[pair[0]..pair[1]]).unwrap());
            }
            all.push(lines.finish());
            let expected: Vec<Vec<u8>> = text.split('\n').map(|line| line.as_bytes().to_vec()).collect();
            prop_assert_eq!(all, expected);
        }
    }

    #[test]
    fn a_line_ends_at_the_limit_with_and_without_a_line_end() {
        let mut longest = vec![b'x'; LINE];
        assert_eq!(Lines::default().push(&longest), Ok(Vec::new()));
        longest.push(b'x');
        assert_eq!(Lines::default().push(&longest), Err(Overflow::Line));
        longest.push(b'\n');
        assert_eq!(Lines::default().push(&longest), Err(Overflow::Line));
    }

    #[test]
    fn many_short_lines_have_a_limit_too() {
        let piece = "x\n".repeat(1 << 19);
        let mut lines = Lines::default();
        for _ in 0..16 {
            lines.push(piece.as_bytes()).unwrap();
        }
        assert_eq!(lines.push(b"x\n"), Err(Overflow::Total));
    }

    #[test]
    fn lines_are_told_as_they_come_and_within_bounds() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let keep = told.clone();
        let mut spoken = Spoken::new(Arc::new(move |line: &str| keep.lock().unwrap().push(line.to_owned())));
        spoken.push(b"open ht");
        spoken.push(b"tps://h.example\r\n\n  \nthen");
        assert_eq!(*told.lock().unwrap(), ["open https://h.example"]);
        assert!(spoken.is_unfinished());
        spoken.tell();
        assert_eq!((told.lock().unwrap().pop().as_deref(), spoken.is_unfinished()), (Some("then"), false));
        spoken.push(&vec![b'x'; 10_000]);
        spoken.push(b"\n\xff");
        drop(spoken);
        {
            let told = told.lock().unwrap();
            assert_eq!((told.len(), told[1].len(), told[2].as_str()), (3, TOLD_LINE, "\u{fffd}"));
        }
        let keep = told.clone();
        let mut spoken = Spoken::new(Arc::new(move |line: &str| keep.lock().unwrap().push(line.to_owned())));
        spoken.push("y\n".repeat(5000).as_bytes());
        assert_eq!(told.lock().unwrap().len(), 3 + TOLD_LINES);
    }
}
