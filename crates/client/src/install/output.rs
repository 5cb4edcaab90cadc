//! The output of a package manager: kept for messages about failures, and read for the progress.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::watch;

use acp_registry_host::process::Tail;
use acp_registry_plan::text::{shown, without_secrets};

/// The beginnings of the lines in which npm logs each answer. They show the progress, not failures.
const NOTE: &[u8] = b"npm http ";

/// The longest line that is looked at, in bytes.
const LINE: usize = 4096;

/// How much of a phase is shown, in characters.
const SHOWN: usize = 60;

/// The end of what a program writes.
#[derive(Clone, Default)]
pub(super) struct OutputTail(Arc<Mutex<Tail>>);

impl OutputTail {
    fn push(&self, bytes: &[u8]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
    }

    /// The end of the output, with passwords removed from addresses: package managers know those of the person's
    /// registries.
    pub(super) fn text(&self) -> String {
        without_secrets(&self.0.lock().unwrap_or_else(PoisonError::into_inner).text()).into_owned()
    }
}

/// Hears what a program writes to stderr.
pub(super) struct Ear {
    words: OutputTail,
    phase: watch::Sender<String>,
    /// The beginning of the current line.
    line: Vec<u8>,
    /// How much of it was kept already.
    kept: usize,
    /// How many descriptions and how many archives of packages npm has received.
    descriptions: usize,
    archives: usize,
    downloads: Downloads,
}

/// What uv has said of its downloads, of which many are under way at once.
#[derive(Default)]
struct Downloads {
    started: usize,
    /// Name and size of those that are under way.
    running: Vec<String>,
}

impl Ear {
    pub(super) fn new(words: OutputTail, phase: watch::Sender<String>) -> Self {
        Self { words, phase, line: Vec::new(), kept: 0, descriptions: 0, archives: 0, downloads: Downloads::default() }
    }

    fn hear(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() + part.len() > LINE {
                // No line that means something is that long.
                self.keep_line();
                self.words.push(part);
                self.line.clear();
                self.kept = 0;
                continue;
            }
            self.line.extend_from_slice(part);
            let is_note = self.line.starts_with(NOTE);
            // What may become a note is held back until that is known.
            if !is_note && !NOTE.starts_with(&self.line) {
                self.keep_line();
            }
            if part.ends_with(b"\n") {
                self.end_line(is_note);
            }
        }
    }

    fn keep_line(&mut self) {
        self.words.push(&self.line[self.kept..]);
        self.kept = self.line.len();
    }

    fn end_line(&mut self, is_note: bool) {
        let line = String::from_utf8_lossy(&self.line).into_owned();
        if let Some((_, why)) = line.split_once(" failed with ").filter(|_| is_note) {
            self.phase.send_replace(shown(&format!("asking again after {}", why.trim()), SHOWN));
        } else if is_note {
            let is_archive = line.split_whitespace().any(|word| word.rsplit('.').next() == Some("tgz"));
            *(if is_archive { &mut self.archives } else { &mut self.descriptions }) += 1;
            self.phase.send_replace(if self.archives > 0 {
                format!("fetching packages: {}", self.archives)
            } else {
                format!("looking up packages: {}", self.descriptions)
            });
        } else {
            self.keep_line();
            if let Some(phase) = self.downloads.phase(line.trim()) {
                self.phase.send_replace(shown(&without_secrets(&phase), SHOWN));
            }
        }
        self.line.clear();
        self.kept = 0;
    }
}

impl Downloads {
    /// How far uv is by one of its lines; `None` when that says nothing of it.
    fn phase(&mut self, line: &str) -> Option<String> {
        let (word, rest) = line.split_once(' ')?;
        // `104 packages in 1.7s`
        let packages = || rest.split(" in ").next().unwrap_or_default();
        Some(match word {
            "Resolved" => format!("resolved {}", packages()),
            "Downloading" => {
                self.started += 1;
                self.running.push(rest.to_owned());
                self.under_way()?
            }
            "Downloaded" => {
                self.running.retain(|running| running.split(' ').next() != Some(rest));
                self.under_way().unwrap_or_else(|| "fetched packages".to_owned())
            }
            "Building" => format!("building {rest}"),
            "Prepared" => format!("installing {}", packages()),
            "Installed" => format!("installed {}", packages()),
            _ => return None,
        })
    }

    /// The download that has taken longest, with the number of those that are done.
    fn under_way(&self) -> Option<String> {
        let first = self.running.first()?;
        let done = self.started - self.running.len();
        Some(match self.started {
            1 => format!("downloading {first}"),
            started => format!("downloading {first}, {done} of {started} done"),
        })
    }
}

/// Keeps what a pipe brings, to its end.
pub(super) async fn drain(mut pipe: impl AsyncRead + Unpin, words: OutputTail) {
    let mut buffer = vec![0; 1 << 14];
    while let Ok(length @ 1..) = pipe.read(&mut buffer).await {
        words.push(&buffer[..length]);
    }
}

/// The same, with an ear for phases.
pub(super) async fn listen(mut pipe: impl AsyncRead + Unpin, mut ear: Ear) {
    let mut buffer = vec![0; 1 << 14];
    while let Ok(length @ 1..) = pipe.read(&mut buffer).await {
        ear.hear(&buffer[..length]);
    }
    ear.keep_line();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(pieces: &[&str]) -> (String, String) {
        let (words, (phase, seen)) = (OutputTail::default(), watch::channel(String::new()));
        let mut ear = Ear::new(words.clone(), phase);
        for piece in pieces {
            ear.hear(piece.as_bytes());
        }
        ear.keep_line();
        let phase = seen.borrow().clone();
        (words.text(), phase)
    }

    #[test]
    fn notes_of_npm_are_counted_and_not_kept() {
        let get = |path: &str| format!("npm http fetch GET 200 https://h.example/{path} 12ms (cache miss)\n");
        let (kept, phase) = heard(&[&get("a"), &get("b"), "npm warn x\nnpm h"]);
        assert_eq!((kept.as_str(), phase.as_str()), ("npm warn x\nnpm h", "looking up packages: 2"));
        let (kept, phase) = heard(&["npm http fetch GET https://h.example/a attempt 1 failed with EAI_AGAIN\n"]);
        assert_eq!((kept.as_str(), phase.as_str()), ("", "asking again after EAI_AGAIN"));
        let (kept, phase) =
            heard(&["npm", " http fetch GET 200 https://h.example/a/-/a-1.tgz 1ms\nnpm er", "ror code E\n"]);
        assert_eq!((kept.as_str(), phase.as_str()), ("npm error code E\n", "fetching packages: 1"));
    }

    #[test]
    fn phases_of_uv_are_told_in_few_words() {
        // As uv 0.13 writes them.
        let mut words = String::new();
        for (line, expected) in [
            ("Resolved 104 packages in 1.73s", "resolved 104 packages"),
            ("Downloading numpy (16.1MiB)", "downloading numpy (16.1MiB)"),
            ("Downloading pillow (6.8MiB)", "downloading numpy (16.1MiB), 0 of 2 done"),
            (" Downloaded numpy", "downloading pillow (6.8MiB), 1 of 2 done"),
            (" Downloaded pillow", "fetched packages"),
            ("   Building docopt==0.6.2", "building docopt==0.6.2"),
            ("      Built docopt==0.6.2", "building docopt==0.6.2"),
            ("Prepared 104 packages in 2.10s", "installing 104 packages"),
            ("Installed 104 packages in 351ms", "installed 104 packages"),
            (" + aiohttp==3.14.5", "installed 104 packages"),
            ("Installed 3 executables: mc, mcode", "installed 3 executables: mc, mcode"),
        ] {
            words.push_str(line);
            words.push('\n');
            let (kept, phase) = heard(&[&words]);
            assert_eq!((phase.as_str(), kept), (expected, words.clone()), "{line}");
        }
        let (kept, phase) = heard(&["Downloading x\u{1b}[31m (9MiB)\n", "error: no\n"]);
        assert_eq!(phase, "downloading x[31m (9MiB)");
        assert_eq!(kept, "Downloading x\u{1b}[31m (9MiB)\nerror: no\n");
    }

    #[test]
    fn no_password_of_a_registry_is_kept_or_shown() {
        let (kept, phase) = heard(&[
            "Downloading x from https://u:sec",
            "ret@h.example/x\nnpm error 401 https://u:secret@h.example/a\n",
        ]);
        assert_eq!(phase, "downloading x from https://h.example/x");
        assert_eq!(kept, "Downloading x from https://h.example/x\nnpm error 401 https://h.example/a\n");
    }

    #[test]
    fn a_line_of_any_length_is_kept_once() {
        let long = "x".repeat(3 * LINE);
        for pieces in [vec![long.as_str(), "\nend"], vec![&long[..10], &long[10..], "\nend"]] {
            assert_eq!(heard(&pieces).0, format!("{long}\nend"));
        }
    }
}
